// The page for people and the vocabulary of the program are one list.
#include "core/reason.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

namespace subak {
namespace {

TEST(Reason, EveryTokenIsExplainedInTheDocs) {
  std::ifstream page("docs/reasons.md");
  ASSERT_TRUE(page.is_open());
  std::vector<std::string> listed;
  for (std::string line; std::getline(page, line);) {
    constexpr std::string_view kRow = "| `";
    if (line.rfind(kRow, 0) != 0) continue;
    const std::size_t end = line.find('`', kRow.size());
    listed.push_back(line.substr(kRow.size(), end - kRow.size()));
    EXPECT_GE(std::count(line.begin(), line.end(), '|'), 4) << line;
  }
  const std::vector<std::string> tokens(EnumText<ReasonToken>::names.begin(),
                                        EnumText<ReasonToken>::names.end());
  EXPECT_EQ(listed, tokens);
}

}  // namespace
}  // namespace subak

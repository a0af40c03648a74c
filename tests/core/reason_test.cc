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
  std::vector<std::string> tokens;
  for (const ReasonToken token : kReasonOrder) tokens.emplace_back(enum_name(token));
  EXPECT_EQ(listed, tokens);
}

TEST(Reason, EveryTokenHasARankOfItsOwn) {
  for (std::size_t i = 0; i < EnumText<ReasonToken>::names.size(); ++i) {
    const std::size_t rank = rank_of(static_cast<ReasonToken>(i));
    ASSERT_LT(rank, kReasonOrder.size()) << EnumText<ReasonToken>::names[i];
    EXPECT_EQ(kReasonOrder[rank], static_cast<ReasonToken>(i));
  }
}

}  // namespace
}  // namespace subak

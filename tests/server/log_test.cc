#include "server/log/log.h"

#include <gtest/gtest.h>

#include "core/printable.h"
#include "tests/core/odd_names.h"

namespace subak {
namespace {

TEST(Log, ALineIsInTheCommonTextForm) {
  EXPECT_EQ(log::line("job reserved", {{"job", "1-42"}, {"pods", 3}, {"dry", false}, {"s", 0.5}}),
            "msg=\"job reserved\" job=1-42 pods=3 dry=false s=0.5");
}

TEST(Log, ValuesCannotBreakTheLine) {
  EXPECT_EQ(log::line("x", {{"name", "a\nlevel=error \"b\""}}),
            "msg=x name=\"a\\nlevel=error \\\"b\\\"\"");
}

TEST(Log, ALineIsPrintable) {
  for (const test::OddName& name : test::kOddNames) {
    const std::string line = log::line(name.text, {{"name", name.text}});
    EXPECT_TRUE(is_printable(line)) << printable(line);
  }
}

TEST(Log, LevelsBelowAreNotWritten) {
  log::set_level(LogLevel::kWarn);
  ::testing::internal::CaptureStderr();
  log::debug("one");
  log::info("two");
  log::warn("three", {{"k", 1}});
  log::error("four");
  const std::string out = ::testing::internal::GetCapturedStderr();
  log::set_level(LogLevel::kInfo);
  EXPECT_EQ(out.find("one"), std::string::npos);
  EXPECT_EQ(out.find("two"), std::string::npos);
  EXPECT_NE(out.find("Z level=warn msg=three k=1\n"), std::string::npos);
  EXPECT_NE(out.find("Z level=error msg=four\n"), std::string::npos);
  EXPECT_EQ(out.substr(0, 5), "time=");
}

}  // namespace
}  // namespace subak

#include <gtest/gtest.h>

#include "core/error.h"

namespace subak {
namespace {

TEST(CutText, KeepsWhatFitsAndCountsTheRest) {
  EXPECT_EQ(cut_text("abc", 3), "abc");
  EXPECT_EQ(cut_text("abcd", 3), "abc... (1 more bytes)");
  EXPECT_EQ(cut_text("", 0), "");
  const std::string huge(3u << 20, 'x');
  EXPECT_LE(cut_text(huge, 10).size(), 10 + kCutNoteBytes);
}

TEST(CutText, NeverCutsACharacter) {
  const std::string text = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";  // 1, 2, 3 and 4 bytes
  EXPECT_EQ(cut_text(text, 2), "a... (9 more bytes)");
  EXPECT_EQ(cut_text(text, 3), "a\xc3\xa9... (7 more bytes)");
  EXPECT_EQ(cut_text(text, 5), "a\xc3\xa9... (7 more bytes)");
  EXPECT_EQ(cut_text(text, 9), "a\xc3\xa9\xe2\x82\xac... (4 more bytes)");
  // What is no UTF-8 is cut where it is due.
  EXPECT_EQ(cut_text(std::string(20, '\x80'), 10), std::string(7, '\x80') + "... (13 more bytes)");
}

TEST(ErrorMessage, RepeatsNoMoreThanItsLimits) {
  const Error small{ErrorCode::kInvalid, "quota.gpu", "-3", "want 0 or more"};
  EXPECT_EQ(small.message(), "quota.gpu: was \"-3\", want 0 or more");
  const std::string path(20'000, 'p');
  const Error large{ErrorCode::kInvalid, path, path, "want less than " + path};
  EXPECT_LE(large.message().size(), limits::kMaxMessageBytes + 200);
  EXPECT_NE(large.message().find("(19744 more bytes)"), std::string::npos);
}

}  // namespace
}  // namespace subak

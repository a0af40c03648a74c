// Checks that the webhook denied a pod: reason, HTTP code, a part of the message, no patch.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "admission/policy.h"

namespace subak::test {

inline void expect_denied(const Decision& d, Because because, int code, std::string_view part) {
  EXPECT_EQ(d.verdict, Verdict::kDenied);
  EXPECT_EQ(enum_name(d.because), enum_name(because));
  EXPECT_EQ(d.code, code);
  EXPECT_THAT(d.message, ::testing::HasSubstr(std::string(part)));
  EXPECT_TRUE(d.patch.empty());
}

}  // namespace subak::test

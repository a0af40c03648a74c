#include "kube/known_as.h"

#include <gtest/gtest.h>

#include "core/limits.h"

namespace subak {
namespace {

std::string answer(const std::string& user) {
  return R"({"kind":"SelfSubjectReview","status":{"userInfo":{"username":")" + user +
         R"(","groups":["system:authenticated"]}}})";
}

TEST(KnownAs, IsTheUserOfTheAnswer) {
  EXPECT_EQ(read_known_as(answer("system:serviceaccount:subak-system:subak")).value(),
            "system:serviceaccount:subak-system:subak");
  const std::string longest(limits::kMaxTextBytes, 'u');
  EXPECT_EQ(read_known_as(answer(longest)).value(), longest);
}

TEST(KnownAs, RefusesWhatNamesNobody) {
  const auto field = [](const std::string& text) { return read_known_as(text).error().field; };
  const std::string name = "status.userInfo.username";
  EXPECT_EQ(field(answer("")), name);
  EXPECT_EQ(field(answer(std::string(limits::kMaxTextBytes + 1, 'u'))), name);
  EXPECT_EQ(field("{}"), name);
  EXPECT_EQ(field(R"({"status":[]})"), name);
  EXPECT_EQ(field(R"({"status":{"userInfo":{"username":7}}})"), name);
  for (const char* text : {"", "[]", "7", "{\"status\":"}) {
    EXPECT_EQ(field(text), "SelfSubjectReview") << text;
  }
}

}  // namespace
}  // namespace subak

// What a review costs grows with its bytes and not faster, and no answer grows with them.
#include "hostile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/limits.h"

namespace subak {
namespace {

using test::Hostile;

class HostileReview : public ::testing::TestWithParam<Hostile> {};

std::vector<Hostile> with_names() { return test::hostile_reviews(); }
std::string name_of(const ::testing::TestParamInfo<Hostile>& info) {
  std::string name;
  for (const char c : info.param.name)
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

// Eight times the bytes are eight times the work where it is linear, and 64 times where it is not.
TEST_P(HostileReview, CostsWhatItsBytesDo) {
  constexpr double kGrowth = 8, kMost = 24;
  const auto view = test::fixed_view();
  std::string small = test::hostile_text(GetParam(), 32 << 10);
  std::string large = test::hostile_text(GetParam(), 256 << 10);
  ASSERT_NEAR(static_cast<double>(large.size()) / static_cast<double>(small.size()), kGrowth, 2);
  double ratio = 0;
  for (int attempt = 0; attempt < 5; ++attempt) {
    ratio = test::least_ns(*view, large, GetParam().endpoint, 3) /
            test::least_ns(*view, small, GetParam().endpoint, 3);
    if (ratio <= kMost) return;
  }
  FAIL() << "the work grew " << ratio << " times";
}

TEST_P(HostileReview, GetsABoundedAnswer) {
  const auto view = test::fixed_view();
  std::string review = test::hostile_text(GetParam(), 1 << 20);
  const test::Cost cost = test::cost_of(*view, review, GetParam().endpoint);
  EXPECT_LE(cost.answer_bytes, std::size_t{16} << 10);
  EXPECT_LE(cost.warnings, limits::kMaxWarnings);
}

INSTANTIATE_TEST_SUITE_P(All, HostileReview, ::testing::ValuesIn(with_names()), name_of);

TEST(HostileReviews, WarningsBeyondTheLimitAreCounted) {
  const auto keys = [](std::size_t n) {
    return test::decide_text(test::hostile::annotated(test::joined(
        n, [](std::size_t i) { return "\"subak.gpu/k" + std::to_string(i) + "\":\"\""; })));
  };
  EXPECT_EQ(keys(limits::kMaxWarnings).warnings.size(), limits::kMaxWarnings);
  EXPECT_THAT(keys(limits::kMaxWarnings).warnings.back(), ::testing::HasSubstr("no key of Subak"));
  const Decision more = keys(80'000);
  ASSERT_EQ(more.warnings.size(), limits::kMaxWarnings);
  EXPECT_EQ(more.warnings.back(), "and 79985 more warnings");
}

TEST(HostileReviews, MistakesBeyondTheLimitAreCounted) {
  const auto mistakes = [](std::size_t n) {
    return test::decide_text(test::review_text(test::pod(test::joined(
                                 n,
                                 [](std::size_t) {
                                   return std::string(
                                       R"({"resources":{"limits":{"nvidia.com/gpu":"x"}}})");
                                 }))))
        .message;
  };
  EXPECT_THAT(mistakes(limits::kMaxMistakes), ::testing::HasSubstr("(and 15 more mistakes)"));
  EXPECT_THAT(mistakes(1000), ::testing::HasSubstr("(and 999 more mistakes)"));
}

TEST(HostileReviews, AnOwnerHasABoundedNumberOfTemplates) {
  const auto job = [](std::size_t n) {
    return test::decide_text(test::hostile::jobset(
        R"("x":[)" +
        test::joined(
            n, [](std::size_t) { return test::pod(test::container("nvidia.com/gpu", "0.001")); }) +
        "]"));
  };
  EXPECT_THAT(job(limits::kMaxTemplates).message, ::testing::HasSubstr("want a whole number"));
  EXPECT_THAT(job(limits::kMaxTemplates + 1).message,
              ::testing::HasSubstr("more than 256 pod templates"));
}

}  // namespace
}  // namespace subak

#include "engine/requests.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "core/limits.h"

namespace subak {
namespace {

std::string name(std::uint64_t n) { return std::string(n % 60 + 1, 'r') + std::to_string(n); }

TEST(RequestLog, FindsWhatItWasToldAndNothingElse) {
  RequestLog log;
  EXPECT_EQ(log.find("a"), nullptr);
  log.add("a", {5, JobId(7), AccountId(), 0});
  log.add("ab", {5, JobId(), AccountId(3), 9});
  ASSERT_NE(log.find("a"), nullptr);
  EXPECT_EQ(log.find("a")->job, JobId(7));
  ASSERT_NE(log.find("ab"), nullptr);
  EXPECT_EQ(log.find("ab")->revision, 9);
  EXPECT_EQ(log.find("b"), nullptr);
  EXPECT_EQ(log.find(""), nullptr);
}

TEST(RequestLog, AKnownIdGetsTheNewAnswerInItsPlace) {
  RequestLog log;
  log.add("a", {5, JobId(7), AccountId(), 0});
  log.add("b", {5, JobId(8), AccountId(), 0});
  log.add("a", {5, JobId(9), AccountId(), 0});
  ASSERT_EQ(log.size(), 2u);
  EXPECT_EQ(log.id(0), "a");
  EXPECT_EQ(log.request(0).job, JobId(9));
  EXPECT_EQ(log.id(1), "b");
}

TEST(RequestLog, ForgetsWhatIsOlderThanADay) {
  RequestLog log;
  log.add("old", {0, JobId(1), AccountId(), 0});
  log.add("edge", {1, JobId(2), AccountId(), 0});
  log.add("new", {1 + limits::kRequestIdLifeMs, JobId(3), AccountId(), 0});
  EXPECT_EQ(log.find("old"), nullptr);
  EXPECT_NE(log.find("edge"), nullptr);
  EXPECT_EQ(log.id(0), "edge");
}

TEST(RequestLog, KeepsTheNewestOfTooMany) {
  RequestLog log;
  const std::uint64_t most = limits::kMaxRequestIds;
  for (std::uint64_t n = 0; n < most + 2; ++n) {
    log.add(name(n), {0, JobId(n + 1), AccountId(), 0});
  }
  EXPECT_EQ(log.size(), most);
  EXPECT_EQ(log.find(name(0)), nullptr);
  EXPECT_EQ(log.find(name(1)), nullptr);
  for (std::uint64_t n = 2; n < most + 2; n += 997) {
    ASSERT_NE(log.find(name(n)), nullptr) << n;
    EXPECT_EQ(log.find(name(n))->job, JobId(n + 1));
  }
  EXPECT_EQ(log.id(0), name(2));
}

TEST(RequestLog, AgreesWithAMapOverLongTimes) {
  RequestLog log;
  std::map<std::string, RememberedRequest> naive;
  std::mt19937_64 random(5);
  TimeMs now = 0;
  for (std::uint64_t n = 0; n < 20'000; ++n) {
    now += static_cast<TimeMs>(random() % 60'000);
    const std::string id = name(random() % 3000);
    const RememberedRequest request{now, JobId(n + 1), AccountId(), 0};
    if (log.find(id) == nullptr) {  // as the engine does: a known id is answered, not added
      log.add(id, request);
      naive[id] = request;
    }
    std::erase_if(naive, [&](const auto& entry) {
      return entry.second.at_ms + limits::kRequestIdLifeMs < log.request(log.size() - 1).at_ms;
    });
    ASSERT_EQ(log.size(), naive.size());
    const std::string other = name(random() % 3000);
    const auto known = naive.find(other);
    ASSERT_EQ(log.find(other) == nullptr, known == naive.end()) << other;
    if (known != naive.end()) {
      ASSERT_EQ(log.find(other)->job, known->second.job);
    }
  }
}

}  // namespace
}  // namespace subak

#include "engine/state/requests.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/limits.h"

namespace subak {
namespace {

RequestKey key(std::string_view id) { return {"ana", Method::kSubmitJob, id}; }

// By actor, then from the oldest on.
std::vector<std::string> ids(const RequestLog& log) {
  std::vector<std::string> out;
  log.each([&](const RequestKey& key, const RememberedRequest&) { out.emplace_back(key.id); });
  return out;
}
std::string id(const RequestLog& log, std::size_t place) { return ids(log).at(place); }

std::string name(std::uint64_t n) { return std::string(n % 60 + 1, 'r') + std::to_string(n); }

TEST(RequestLog, FindsWhatItWasToldAndNothingElse) {
  RequestLog log;
  EXPECT_EQ(log.find(key("a")), nullptr);
  log.add(key("a"), {5, JobId(7), AccountId(), 0});
  log.add(key("ab"), {5, JobId(), AccountId(3), 9});
  ASSERT_NE(log.find(key("a")), nullptr);
  EXPECT_EQ(log.find(key("a"))->job, JobId(7));
  ASSERT_NE(log.find(key("ab")), nullptr);
  EXPECT_EQ(log.find(key("ab"))->revision, 9);
  EXPECT_EQ(log.find(key("b")), nullptr);
  EXPECT_EQ(log.find(key("")), nullptr);
}

TEST(RequestLog, AKnownIdGetsTheNewAnswerInItsPlace) {
  RequestLog log;
  log.add(key("a"), {5, JobId(7), AccountId(), 0});
  log.add(key("b"), {5, JobId(8), AccountId(), 0});
  log.add(key("a"), {5, JobId(9), AccountId(), 0});
  ASSERT_EQ(log.size(), 2u);
  EXPECT_EQ(id(log, 0), "a");
  EXPECT_EQ(log.find(key("a"))->job, JobId(9));
  EXPECT_EQ(id(log, 1), "b");
}

TEST(RequestLog, AnIdBelongsToItsActorAndMethod) {
  RequestLog log;
  log.add({"ana", Method::kSubmitJob, "a"}, {5, JobId(7), AccountId(), 0, 11});
  log.add({"bob", Method::kSubmitJob, "a"}, {5, JobId(8), AccountId(), 0, 12});
  log.add({"ana", Method::kCancelJob, "a"}, {5, JobId(9), AccountId(), 0, 13});
  EXPECT_EQ(log.find({"ana", Method::kSubmitJob, "a"})->job, JobId(7));
  EXPECT_EQ(log.find({"bob", Method::kSubmitJob, "a"})->job, JobId(8));
  EXPECT_EQ(log.find({"ana", Method::kCancelJob, "a"})->content, 13u);
  EXPECT_EQ(log.find({"bob", Method::kCancelJob, "a"}), nullptr);
  EXPECT_EQ(log.find({"an", Method::kSubmitJob, "aa"}), nullptr);
  EXPECT_EQ(log.find({"", Method::kSubmitJob, "a"}), nullptr);
  std::string all;
  log.each([&](const RequestKey& k, const RememberedRequest& r) {
    all += std::string(k.actor) + " " + std::string(enum_name(k.method)) + " " + std::string(k.id) +
           " " + std::to_string(r.content) + "; ";
  });
  EXPECT_EQ(all, "ana submit_job a 11; ana cancel_job a 13; bob submit_job a 12; ");
}

TEST(RequestLog, ForgetsWhatIsOlderThanADay) {
  RequestLog log;
  log.add(key("old"), {0, JobId(1), AccountId(), 0});
  log.add(key("edge"), {1, JobId(2), AccountId(), 0});
  log.add(key("new"), {1 + limits::kRequestIdLifeMs, JobId(3), AccountId(), 0});
  EXPECT_EQ(log.find(key("old")), nullptr);
  EXPECT_NE(log.find(key("edge")), nullptr);
  EXPECT_EQ(id(log, 0), "edge");
}

TEST(RequestLog, AnOldKeyThatComesAgainIsTheNewest) {
  RequestLog log;
  log.add(key("old"), {0, JobId(1), AccountId(), 0});
  log.add(key("edge"), {1, JobId(2), AccountId(), 0});
  log.add(key("old"), {1 + limits::kRequestIdLifeMs, JobId(3), AccountId(), 0});
  ASSERT_EQ(log.size(), 2u);
  EXPECT_EQ(id(log, 0), "edge");
  EXPECT_EQ(id(log, 1), "old");
}

TEST(RequestLog, KeepsTheNewestOfTooMany) {
  RequestLog log;
  const std::uint64_t most = limits::kMaxRequestIds;
  for (std::uint64_t n = 0; n < most + 2; ++n) {
    log.add(key(name(n)), {0, JobId(n + 1), AccountId(), 0});
  }
  EXPECT_EQ(log.size(), most);
  EXPECT_EQ(log.find(key(name(0))), nullptr);
  EXPECT_EQ(log.find(key(name(1))), nullptr);
  for (std::uint64_t n = 2; n < most + 2; n += 997) {
    ASSERT_NE(log.find(key(name(n))), nullptr) << n;
    EXPECT_EQ(log.find(key(name(n)))->job, JobId(n + 1));
  }
  EXPECT_EQ(id(log, 0), name(2));
}

TEST(RequestLog, WhoAsksTooMuchForgetsHisOwn) {
  RequestLog log;
  log.add({"bob", Method::kSubmitJob, "mine"}, {0, JobId(7), AccountId(), 0});
  const std::uint64_t most = limits::kMaxRequestIds;
  for (std::uint64_t n = 0; n < most + 10; ++n)
    log.add(key(name(n)), {0, JobId(1), AccountId(), 0});
  EXPECT_EQ(log.size(), most);
  EXPECT_NE(log.find({"bob", Method::kSubmitJob, "mine"}), nullptr) << "the oldest of all";
  EXPECT_EQ(log.find(key(name(0))), nullptr);
  log.add({"bob", Method::kSubmitJob, "late"}, {limits::kRequestIdLifeMs + 1, JobId(8), {}, 0});
  EXPECT_EQ(log.size(), 1u) << "all others are too old";
}

TEST(RequestLog, AgreesWithAMapOverLongTimes) {
  RequestLog log;
  std::map<std::string, RememberedRequest> naive;
  std::mt19937_64 random(5);
  TimeMs now = 0, added_ms = 0;
  for (std::uint64_t n = 0; n < 20'000; ++n) {
    now += static_cast<TimeMs>(random() % 60'000);
    const std::string asked = name(random() % 3000);
    const RememberedRequest request{now, JobId(n + 1), AccountId(), 0};
    if (log.find(key(asked)) == nullptr) {  // as the engine does: a known id is answered, not added
      log.add(key(asked), request);
      naive[asked] = request;
      added_ms = now;
    }
    std::erase_if(naive, [&](const auto& entry) {
      return entry.second.at_ms + limits::kRequestIdLifeMs < added_ms;
    });
    ASSERT_EQ(log.size(), naive.size());
    const std::string other = name(random() % 3000);
    const auto known = naive.find(other);
    ASSERT_EQ(log.find(key(other)) == nullptr, known == naive.end()) << other;
    if (known != naive.end()) {
      ASSERT_EQ(log.find(key(other))->job, known->second.job);
    }
  }
}

}  // namespace
}  // namespace subak

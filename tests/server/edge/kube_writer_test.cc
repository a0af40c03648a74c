// Writes that the API server refuses: how long they are tried, and who is told.
#include <gmock/gmock.h>

#include "core/limits.h"
#include "kube_answers.h"
#include "kube_seen.h"
#include "server/edge/writes/writer.h"

namespace subak {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class KubeWriter : public Kube {
 protected:
  KubeWriter() {
    api.answer = {Outcome::kRefused, "Forbidden", "not today", 0};
    see({"1"});
  }
  void begin(WriteKind kind, const std::string& uid = "1") {
    KubeWrite write;
    write.kind = kind;
    write.uid = uid;
    write.job = JobId(ClusterId(1), 1);
    write.node = "n1";
    write.attempt = 1;
    writer.begin(write);
  }
  void give_up_the_release() {
    begin(WriteKind::kRelease);
    monotonic += limits::kReleaseRefusedMs;
    begin(WriteKind::kRelease);
    EXPECT_THAT(given_up, ElementsAre("release not today"));
    given_up.clear();
  }
  WriterHooks hooks() {
    WriterHooks out;
    out.see_pod = [this](json::Value pod) { cache.see_answered_pod(pod, monotonic); };
    out.see_owner = [](json::Value, const std::string&) {};
    out.done = [](const KubeWrite&) {};
    out.give_up = [this](const KubeWrite& write, const CallAnswer& answer) {
      given_up.push_back(std::string(enum_name(write.kind)) + " " + answer.message);
    };
    out.monotonic_ms = [this] { return monotonic; };
    return out;
  }

  AnswersAtOnce api;
  std::vector<std::string> given_up;
  Writer writer{api, cache, hooks()};
};

TEST_F(KubeWriter, AReleaseIsGivenUpAfterAMinuteOfNo) {
  begin(WriteKind::kRelease);
  monotonic += limits::kReleaseRefusedMs - 1;
  begin(WriteKind::kRelease);
  EXPECT_THAT(given_up, IsEmpty());
  monotonic += 1;
  begin(WriteKind::kRelease);
  EXPECT_THAT(given_up, ElementsAre("release not today"));
}

TEST_F(KubeWriter, AMarkAloneIsTriedForAMinute) {
  begin(WriteKind::kKeep);
  EXPECT_THAT(given_up, IsEmpty());
  monotonic += limits::kReleaseRefusedMs;
  begin(WriteKind::kKeep);
  EXPECT_THAT(given_up, ElementsAre("keep not today"));
}

TEST_F(KubeWriter, AMarkIsNotTriedForAnotherMinuteWhereTheReleaseWasRefused) {
  give_up_the_release();
  begin(WriteKind::kKeep);
  EXPECT_THAT(given_up, ElementsAre("keep not today"));
  // And the next release has its whole minute.
  given_up.clear();
  begin(WriteKind::kRelease);
  EXPECT_THAT(given_up, IsEmpty());
}

TEST_F(KubeWriter, AWriteThatWasTakenForgetsTheNo) {
  give_up_the_release();
  api.answer = {Outcome::kDone, "", "", 0};
  api.body = text_of({"1", 2});
  begin(WriteKind::kKeep);
  api.answer = {Outcome::kRefused, "Forbidden", "not today", 0};
  begin(WriteKind::kKeep);
  EXPECT_THAT(given_up, IsEmpty());
}

TEST_F(KubeWriter, ReleasesOfAGangProtectItsNodesFromAutoscalers) {
  const auto releases = [this](bool protects, std::size_t pods) {
    Writer other(api, cache, hooks(), protects);
    KubeWrite write;
    write.uid = "1";
    write.job = JobId(ClusterId(1), 1);
    write.node = "n1";
    write.pods = pods;
    other.begin(write);
    return api.calls.back().body.find("karpenter.sh~1do-not-disrupt") != std::string::npos ||
           api.calls.back().body.find("karpenter.sh/do-not-disrupt") != std::string::npos;
  };
  EXPECT_TRUE(releases(true, 2));
  EXPECT_FALSE(releases(true, 1)) << "a single pod";
  EXPECT_FALSE(releases(false, 2));
}

TEST_F(KubeWriter, NoAnswerIsNoNo) {
  give_up_the_release();
  api.answer = {Outcome::kUnknown, "", "no answer", 0};
  begin(WriteKind::kKeep);
  EXPECT_THAT(given_up, IsEmpty());
}

TEST_F(KubeWriter, WhatIsGoneIsForgotten) {
  for (int i = 0; i < 1000; ++i) {
    const std::string uid = "gone-" + std::to_string(i);
    see({uid});
    begin(WriteKind::kRelease, uid);
    see({uid}, WatchKind::kDeleted);
  }
  begin(WriteKind::kRelease);
  EXPECT_LE(writer.attempts().size(), 65u);
  EXPECT_TRUE(writer.attempts().contains("1"));
}

}  // namespace
}  // namespace subak

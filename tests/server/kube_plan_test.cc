// What the edge remembers and what it writes next, without any I/O.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/limits.h"
#include "server/kube/plan.h"

namespace subak {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr TimeMs kNow = 1'000'000;

struct PodText {
  std::string uid;
  int version = 1;
  bool gated = true;
  std::string node{}, owner{}, phase = "Pending", more_gates{}, meta{}, status{};
  int gang = 1;
};

std::string text_of(const PodText& p) {
  std::string gates = p.gated ? R"({"name":"subak.gpu/queue"})" : "";
  gates += p.more_gates;
  const std::string owner =
      p.owner.empty()
          ? ""
          : R"(,"ownerReferences":[{"controller":true,"apiVersion":"batch/v1","kind":"Job","name":"j","uid":")" +
                p.owner + "\"}]";
  const std::string labels = p.gang > 1
                                 ? R"(,"labels":{"subak.gpu/job":"g","subak.gpu/gang-size":")" +
                                       std::to_string(p.gang) + "\"}"
                                 : "";
  return R"({"metadata":{"uid":")" + p.uid + R"(","namespace":"a","name":"p)" + p.uid +
         R"(","resourceVersion":")" + std::to_string(p.version) + "\"" + owner + labels + p.meta +
         R"(},"spec":{"nodeName":")" + p.node + R"(","schedulingGates":[)" + gates +
         R"(],"containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":"1"}}}]},)" +
         R"("status":{"phase":")" + p.phase + "\"" + p.status + "}}";
}

class Kube : public ::testing::Test {
 protected:
  void see(const PodText& pod, WatchKind kind = WatchKind::kModified) {
    see_text(text_of(pod), kind);
  }
  void see_text(const std::string& text, WatchKind kind = WatchKind::kModified) {
    WatchEvent event;
    event.kind = kind;
    event.object = parser_.parse(text);
    cards.see_pod(event, monotonic);
  }
  void see_answered(const PodText& pod) {
    cards.see_answered_pod(parser_.parse(text_of(pod)), monotonic);
  }
  void see_node(const std::string& name, WatchKind kind = WatchKind::kModified,
                const std::string& more = "") {
    WatchEvent event;
    event.kind = kind;
    event.object = parser_.parse(R"({"metadata":{"name":")" + name + "\"}" + more + "}");
    cards.see_node(event);
  }
  void see_job(const std::string& uid, int parallelism, bool suspended = false,
               const std::string& mark = "") {
    WatchEvent event;
    event.kind = WatchKind::kModified;
    const std::string notes =
        mark.empty() ? "" : R"(,"annotations":{"subak.gpu/suspended":")" + mark + "\"}";
    event.object = parser_.parse(R"({"metadata":{"uid":")" + uid +
                                 R"(","namespace":"a","name":"j","resourceVersion":"5")" + notes +
                                 R"(},"spec":{"parallelism":)" + std::to_string(parallelism) +
                                 R"(,"suspend":)" + (suspended ? "true" : "false") + "}}");
    cards.see_owner(event, kJobsPath);
  }
  void see_owner(const std::string& text) {
    WatchEvent event;
    event.kind = WatchKind::kModified;
    event.object = parser_.parse(text);
    cards.see_owner(event, kJobsPath);
  }
  std::vector<std::string> told() {
    std::vector<std::string> out;
    while (auto news = cards.next(true)) {
      out.push_back(
          std::visit([](const auto& body) { return std::string(body.kName); }, news->body) + " " +
          news->uid);
    }
    return out;
  }
  void want(EffectKind kind, std::uint32_t job, const std::vector<std::string>& uids,
            Cause cause = Cause::kNone) {
    Wanted& wanted = jobs[JobId(ClusterId(1), job)];
    wanted.order = ++order_;
    wanted.effect = {kind, ClusterId(1), JobId(ClusterId(1), job), 1, kNow + 1000, cause, {}, 0};
    for (const std::string& uid : uids) {
      EffectPod& pod = wanted.effect.pods.emplace_back();
      pod.uid = uid;
      pod.node = "n1";
    }
  }
  std::vector<std::string> plan(std::size_t most = 100, TimeMs now = kNow) {
    last = plan_writes(jobs, cards, attempts, now, monotonic, most);
    std::vector<std::string> out;
    for (const KubeWrite& w : last.writes) {
      out.push_back(std::string(enum_name(w.kind)) + " " + w.uid);
    }
    return out;
  }

  Cards cards{"east", {}, default_other_schedulers()};
  WantedJobs jobs;
  Attempts attempts;
  Plan last;
  std::int64_t monotonic = 50'000;

 private:
  simdjson::dom::parser parser_;
  std::uint64_t order_ = 0;
};

// --- cards

TEST_F(Kube, NewsOfOneObjectFold) {
  see({"1"});
  see({"2"});
  see({"1", 2, false, "n1"});
  EXPECT_THAT(told(), ElementsAre("pod_seen 1", "pod_seen 2"));
  see({"1", 3, false, "n1"});  // nothing that the core asks about
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(Kube, WhatIsOlderIsNoNews) {
  see({"1", 7, false, "n1"});
  told();
  see({"1", 6});
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_FALSE(cards.find_gpu_pod("1")->gpu->gated);
}

TEST_F(Kube, APodIsToldBeforeItsEndIfBothWait) {
  see({"1", 1, false, "n1"});
  see({"1", 2, false, "n1"}, WatchKind::kDeleted);
  EXPECT_THAT(told(), ElementsAre("pod_seen 1", "pod_gone 1"));
  EXPECT_EQ(cards.find_gpu_pod("1"), nullptr);
}

TEST_F(Kube, APodWithoutGpusCountsOnceItHasANode) {
  const auto light = [](const std::string& node, const std::string& phase) {
    return R"({"metadata":{"uid":"l","namespace":"a","name":"l"},"spec":{"nodeName":")" + node +
           R"(","containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]},"status":{"phase":")" +
           phase + "\"}}";
  };
  see_text(light("", "Pending"));
  EXPECT_THAT(told(), IsEmpty());
  see_text(light("n1", "Running"));
  EXPECT_THAT(told(), ElementsAre("pod_seen l"));
  see_text(light("n1", "Succeeded"));
  EXPECT_THAT(told(), ElementsAre("pod_seen l"));
  see_text(light("n1", "Succeeded"), WatchKind::kDeleted);
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(Kube, AListThatEndsMostIsAskedForTwice) {
  for (int i = 0; i < 40; ++i) see({std::to_string(i), 1, false, "n1"});
  told();
  cards.begin_pods();
  see({"0", 1, false, "n1"});
  EXPECT_FALSE(cards.complete_pods(kNow));
  EXPECT_THAT(told(), IsEmpty());
  cards.begin_pods();
  see({"0", 1, false, "n1"});
  EXPECT_TRUE(cards.complete_pods(kNow));
  EXPECT_THAT(told(), SizeIs(39));
}

TEST_F(Kube, AnAnswerIsNoSignOfLife) {
  see({"1", 1, false, "n1"});
  see({"2", 1, false, "n1"});
  see({"2", 2, false, "n1"}, WatchKind::kDeleted);
  told();
  see_answered({"2", 2, false, "n1"});  // it comes late
  EXPECT_EQ(cards.find_gpu_pod("2"), nullptr);
  cards.begin_pods();
  see_answered({"1", 1, false, "n1"});
  EXPECT_TRUE(cards.complete_pods(kNow));
  EXPECT_THAT(told(), ElementsAre("pod_gone 1"));
}

TEST_F(Kube, AListThatNamesMostIsBelieved) {
  for (int i = 0; i < 40; ++i) see({std::to_string(i), 1, false, "n1"});
  told();
  cards.begin_pods();
  for (int i = 0; i < 30; ++i) see({std::to_string(i), 1, false, "n1"});
  EXPECT_TRUE(cards.complete_pods(kNow - 5));
  const auto news = cards.next(true);
  const auto& gone = std::get<in::PodGone>(news->body);
  EXPECT_EQ(gone.cause, Cause::kVanished);
  EXPECT_EQ(gone.ended_at_ms, kNow - 5);
}

TEST_F(Kube, ANodeIsToldWhenItChanges) {
  see_node("n1");
  EXPECT_THAT(told(), ElementsAre("node_seen "));
  see_node(
      "n1", WatchKind::kModified,
      R"(,"status":{"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":"2026-01-01T00:00:00Z"}]})");
  EXPECT_THAT(told(), IsEmpty());
  see_node("n1", WatchKind::kModified, R"(,"spec":{"unschedulable":true})");
  EXPECT_THAT(told(), ElementsAre("node_seen "));
  see_node("n1", WatchKind::kDeleted);
  EXPECT_THAT(told(), ElementsAre("node_gone "));
  see_node("n1", WatchKind::kDeleted);
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(Kube, OfASilentNodeTheLeaseIsTheLastSign) {
  const std::string silent =
      R"(,"status":{"conditions":[{"type":"Ready","status":"Unknown","lastHeartbeatTime":"2026-01-01T00:00:00Z","lastTransitionTime":"2026-01-01T00:05:00Z"}]})";
  see_node("n1", WatchKind::kModified, silent);
  EXPECT_THAT(told(), IsEmpty());
  cards.see_lease("n1", "2026-01-01T00:04:21.500000Z");
  const auto node = std::get<in::NodeSeen>(cards.next(true)->body).node;
  EXPECT_EQ(node.not_ready_since_ms, 1767225861500);
  see_node("n1", WatchKind::kModified, silent);
  EXPECT_THAT(told(), IsEmpty());  // read once
  see_node("n2", WatchKind::kModified, silent);
  cards.see_lease("n2", "");
  EXPECT_EQ(std::get<in::NodeSeen>(cards.next(true)->body).node.not_ready_since_ms, 1767225600000);
}

// What a machine that comes back says of its containers' end is when it came back.
TEST_F(Kube, AGivenUpPodEndedWhenItsNodeWasHeardLast) {
  const std::string silent =
      R"(,"status":{"conditions":[{"type":"Ready","status":"Unknown","lastHeartbeatTime":"2026-01-01T00:00:00Z","lastTransitionTime":"2026-01-01T00:05:00Z"}]})";
  const std::string going =
      R"(,"deletionTimestamp":"2026-01-01T00:06:00Z","deletionGracePeriodSeconds":0)";
  const std::string ended =
      R"(,"containerStatuses":[{"name":"c","state":{"terminated":{"exitCode":137,"startedAt":"2026-01-01T00:00:00Z","finishedAt":"2026-01-01T00:10:00Z"}}}])";
  see_node("n1");
  for (const char* uid : {"given-up", "kept"}) see({uid, 1, false, "n1", "", "Running"});
  see_node("n1", WatchKind::kModified, silent);
  cards.see_lease("n1", "2026-01-01T00:04:21Z");
  see({"given-up", 2, false, "n1", "", "Running", "", going});
  see_node("n1");
  see({"kept", 2, false, "n1", "", "Running", "", going});
  told();
  see({"given-up", 3, false, "n1", "", "Failed", "", going, ended});
  see({"kept", 3, false, "n1", "", "Failed", "", going, ended});
  std::map<std::string, TimeMs> ends;
  while (auto news = cards.next(true)) {
    ends[news->uid] = std::get<in::PodSeen>(news->body).pod.ended_at_ms;
  }
  EXPECT_EQ(ends,
            (std::map<std::string, TimeMs>{{"given-up", 1767225861000}, {"kept", 1767226200000}}));
}

// A Job that ended while the service was away: its gang is over, though no pod of it was seen alive.
TEST_F(Kube, OfAnEndedJobTheGangIsOverAfterARestartToo) {
  const std::string job =
      R"({"metadata":{"uid":"j1","namespace":"a","name":"j"},"spec":{"completionMode":"Indexed","parallelism":2,"completions":2,)"
      R"("template":{"spec":{"containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":"1"}}}]}}},)"
      R"("status":{"conditions":[{"type":"Complete","status":"True"}]}})";
  see_owner(job);
  cards.complete_owners(kJobsPath);
  for (const char* uid : {"1", "2"}) see({uid, 1, false, "n1", "j1", "Succeeded"});
  EXPECT_THAT(told(), ::testing::Contains("gang_gone "));
}

TEST_F(Kube, WhatCannotBeReadIsCounted) {
  see_text(R"({"metadata":{"name":"x"}})");
  see_node("n1", WatchKind::kModified, R"(,"status":{"allocatable":{"cpu":"many"}})");
  EXPECT_EQ(cards.unreadable(), 2u);
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(Kube, HowManyStartTogetherIsTheOwnersWord) {
  const auto indexed_pod = [](int i) {
    return R"({"metadata":{"uid":"i)" + std::to_string(i) + R"(","namespace":"a","name":"pair-)" +
           std::to_string(i) +
           R"(","labels":{"batch.kubernetes.io/job-name":"pair","batch.kubernetes.io/controller-uid":"I"},)"
           R"("annotations":{"batch.kubernetes.io/job-completion-index":")" +
           std::to_string(i) +
           R"("},"ownerReferences":[{"controller":true,"apiVersion":"batch/v1","kind":"Job","name":"pair","uid":"I"}]},)"
           R"("spec":{"schedulingGates":[{"name":"subak.gpu/queue"}],"containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":"8"}}}]}})";
  };
  const std::string made =
      R"("template":{"spec":{"containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":"8"}}}]}})";
  cards.begin_owners(kJobsPath);
  cards.complete_owners(kJobsPath);
  see_text(indexed_pod(0));
  EXPECT_THAT(told(), IsEmpty());  // its Job has not been seen
  EXPECT_TRUE(cards.any_untold());
  see_owner(
      R"({"metadata":{"uid":"I","namespace":"a","name":"pair"},"spec":{"completionMode":"Indexed","parallelism":2,"completions":2,)" +
      made + "}}");
  EXPECT_FALSE(cards.any_untold());
  see_text(indexed_pod(1));
  for (int i = 0; i < 2; ++i) {
    const auto pod = std::get<in::PodSeen>(cards.next(true)->body).pod;
    EXPECT_EQ(pod.gang, "pair");
    EXPECT_EQ(pod.owner, "I");
    EXPECT_EQ(pod.gang_size, 2u);
    EXPECT_EQ(pod.rank, i);
  }
}

TEST_F(Kube, WhatIsLeftOfAJobIsASmallerGang) {
  const auto job = [](int succeeded) {
    return R"({"metadata":{"uid":"I","namespace":"a","name":"j"},"spec":{"completionMode":"Indexed","parallelism":3,"completions":3,)"
           R"("template":{"spec":{"containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":"1"}}}]}}},"status":{"succeeded":)" +
           std::to_string(succeeded) + "}}";
  };
  see_owner(job(0));
  see({"1", 1, true, "", "I"});
  const auto first = std::get<in::PodSeen>(cards.next(true)->body).pod;
  EXPECT_EQ(first.gang_size, 3u);
  see_owner(job(1));
  EXPECT_THAT(cards.take_outdated(), ElementsAre("1"));
  see({"1", 1, true, "", "I"});  // read again
  EXPECT_EQ(std::get<in::PodGone>(cards.next(true)->body).pod.uid, "1");
  const auto second = std::get<in::PodSeen>(cards.next(true)->body).pod;
  EXPECT_EQ(second.gang_size, 2u);
  EXPECT_NE(second.owner, first.owner);
  see_owner(job(1));
  EXPECT_THAT(cards.take_outdated(), IsEmpty());
}

TEST_F(Kube, AGangOfUnknownSizeIsNotTold) {
  const auto worker = [](const std::string& note) {
    return R"({"metadata":{"uid":"w","namespace":"a","name":"w","labels":{"training.kubeflow.org/job-name":"t"},"annotations":{)" +
           note +
           R"(},"ownerReferences":[{"controller":true,"apiVersion":"kubeflow.org/v1","kind":"PyTorchJob","name":"t","uid":"P"}]},)"
           R"("spec":{"schedulingGates":[{"name":"subak.gpu/queue"}],"containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":"8"}}}]}})";
  };
  see_text(worker(""));
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_THAT(cards.take_unsized(), ElementsAre("w"));
  see_text(worker(R"("subak.gpu/gang-size":"2")"));
  EXPECT_THAT(told(), ElementsAre("pod_seen w"));
  EXPECT_THAT(cards.take_unsized(), IsEmpty());
}

TEST_F(Kube, AnOrphanIsToldAfterAWhile) {
  cards.begin_owners(kJobsPath);
  cards.complete_owners(kJobsPath);
  see({"1", 1, true, "", "J"});
  cards.adopt_orphans(monotonic + limits::kOwnerMs - 1);
  EXPECT_THAT(told(), IsEmpty());
  cards.adopt_orphans(monotonic + limits::kOwnerMs);
  EXPECT_THAT(told(), ElementsAre("pod_seen 1"));
  see({"2", 1, true, "", "J"});
  see({"2", 2, true, "", "J"}, WatchKind::kDeleted);
  cards.adopt_orphans(monotonic + 2 * limits::kOwnerMs);
  EXPECT_THAT(told(), IsEmpty());
}

// --- plan

TEST_F(Kube, OpensWhatIsWanted) {
  see({"1"});
  see({"2", 1, true, "", "", "Pending", R"(,{"name":"other"})"});
  want(EffectKind::kOpenGate, 1, {"1"});
  want(EffectKind::kOpenGate, 2, {"2"});
  want(EffectKind::kOpenGate, 3, {"3"});
  EXPECT_THAT(plan(), ElementsAre("release 1"));
  EXPECT_EQ(last.writes[0].node, "n1");
  EXPECT_THAT(last.settled, ElementsAre(JobId(ClusterId(1), 3)));
}

TEST_F(Kube, AGangThatIsHalfOpenComesFirst) {
  for (const char* uid : {"1", "2", "3"}) see({uid});
  see({"4", 2, false});
  want(EffectKind::kOpenGate, 1, {"1"});
  want(EffectKind::kOpenGate, 2, {"2"});
  want(EffectKind::kOpenGate, 3, {"3", "4"});
  EXPECT_THAT(plan(2), ElementsAre("release 3", "release 1"));
}

TEST_F(Kube, OnePodThatFailsHoldsUpNoOther) {
  for (const char* uid : {"1", "2", "3"}) see({uid});
  want(EffectKind::kOpenGate, 1, {"1", "2", "3"});
  attempts["1"].under_way = true;
  attempts["2"].next_ms = monotonic + 700;
  EXPECT_THAT(plan(), ElementsAre("release 3"));
  EXPECT_EQ(last.next_ms, monotonic + 700);
}

TEST_F(Kube, AHoldThatHasEndedIsNotActedOn) {
  see({"1"});
  want(EffectKind::kOpenGate, 1, {"1"});
  EXPECT_THAT(plan(100, kNow + 1000), IsEmpty());
  EXPECT_THAT(last.settled, SizeIs(1));
}

TEST_F(Kube, AGangIsTakenBackThroughItsJob) {
  see_job("J", 2);
  see({"1", 1, false, "n1", "J", "Running", "", "", "", 2});
  see({"2", 1, false, "", "J", "Pending", "", "", "", 2});
  see({"3"});
  want(EffectKind::kOpenGate, 1, {"3"});
  want(EffectKind::kEvict, 2, {"1", "2"}, Cause::kUnschedulable);
  EXPECT_THAT(plan(), ElementsAre("suspend J", "release 3"));
  see_job("J", 2, true, "taken-back");
  EXPECT_THAT(plan(), ElementsAre("release 3"));  // its controller is at it
  see({"1", 2, false, "n1", "J", "Failed", "", "", "", 2}, WatchKind::kDeleted);
  EXPECT_THAT(plan(), ElementsAre("release 3"));
  see({"2", 2, false, "", "J", "Pending", "", R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")", "",
       2},
      WatchKind::kDeleted);
  EXPECT_THAT(plan(), ElementsAre("resume J", "release 3"));
  see_job("J", 2, false);
  EXPECT_THAT(plan(), ElementsAre("release 3"));
}

// Its Job may be listed later: an eviction meanwhile would count as the Job's failure.
TEST_F(Kube, APodWaitsForItsOwnerToBeSeenBeforeItIsTakenBack) {
  see({"1", 1, false, "", "J"});
  want(EffectKind::kEvict, 2, {"1"}, Cause::kUnschedulable);
  EXPECT_THAT(plan(), IsEmpty());
  EXPECT_THAT(last.settled, IsEmpty());
  see_job("J", 1);
  EXPECT_THAT(plan(), ElementsAre("suspend J"));
}

TEST_F(Kube, OfAnElasticJobOnlyThatPodGoes) {
  see_job("J", 8);
  see({"1", 1, false, "", "J"});
  see({"2", 1, false, "n1", "J", "Running"});
  want(EffectKind::kEvict, 2, {"1"}, Cause::kUnschedulable);
  EXPECT_THAT(plan(), ElementsAre("evict 1"));
  see_job("J", 1);  // it has one pod at a time: nothing else is touched
  EXPECT_THAT(plan(), ElementsAre("suspend J"));
  see_job("J", 8);
  see({"2", 2, false, "n1", "J", "Succeeded"});
  EXPECT_THAT(plan(), ElementsAre("suspend J"));  // none of its pods is anywhere
}

TEST_F(Kube, EvictionsLeaveAJobItsLastFailures) {
  see_job("J", 16);
  see({"0", 1, false, "n1", "J", "Running"});
  std::vector<std::string> uids;
  for (int i = 1; i < 16; ++i) {
    uids.push_back(std::to_string(i));
    see({uids.back(), 1, false, "", "J"});
  }
  want(EffectKind::kEvict, 2, uids, Cause::kUnschedulable);
  EXPECT_THAT(plan(), SizeIs(5));  // backoffLimit is 6
  want(EffectKind::kEvict, 2, uids, Cause::kCancelled);
  EXPECT_THAT(plan(), SizeIs(15));  // a person wants it
}

TEST_F(Kube, ACancelledJobIsNotResumed) {
  see_job("J", 1, true, "cancelled");
  EXPECT_THAT(plan(), IsEmpty());
  see_job("J", 1, false, "cancelled");  // somebody has: our mark goes
  EXPECT_THAT(plan(), ElementsAre("resume J"));
}

TEST_F(Kube, ATerminatingPodIsLeftAlone) {
  see({"1", 1, false, "n1", "", "Running", "", R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")"});
  want(EffectKind::kEvict, 1, {"1"}, Cause::kCancelled);
  EXPECT_THAT(plan(), IsEmpty());
  EXPECT_THAT(last.settled, SizeIs(1));
}

}  // namespace
}  // namespace subak

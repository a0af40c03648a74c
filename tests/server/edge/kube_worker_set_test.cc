// What the edge makes of a LeaderWorkerSet and the groups of pods that it makes, without any I/O.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/limits.h"
#include "server/edge/writes/plan.h"

namespace subak {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view kLws = "leaderworkerset.sigs.k8s.io/";

class WorkerSet : public ::testing::Test {
 protected:
  void list_sets() {
    cache.owners().begin(kWorkerSetsPath);
    cache.complete_owners(kWorkerSetsPath);
  }
  static std::string made(int gpus) {
    return R"({"spec":{"containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":")" +
           std::to_string(gpus) + R"("}}}]}})";
  }
  static std::string set(const std::string& uid, int groups, const std::string& more = "") {
    return R"({"metadata":{"uid":")" + uid +
           R"(","namespace":"a","name":"llm","resourceVersion":"5"},"spec":{"replicas":)" +
           std::to_string(groups) + R"(,"leaderWorkerTemplate":{"size":2,"workerTemplate":)" +
           made(8) + more + "}}}";
  }
  void see_set(const std::string& text, WatchKind kind = WatchKind::kModified) {
    WatchEvent event;
    event.kind = kind;
    event.object = parser_.parse(text);
    cache.see_owner(event, kWorkerSetsPath);
  }
  void see_pod(int group, int index, WatchKind kind = WatchKind::kModified, bool gated = true,
               const std::string& uid = "") {
    const std::string name = "llm-" + std::to_string(group) + "-" + std::to_string(index);
    const auto label = [](const char* key, const std::string& value) {
      return "\"" + std::string(kLws) + key + "\":\"" + value + "\"";
    };
    WatchEvent event;
    event.kind = kind;
    event.object = parser_.parse(
        R"({"metadata":{"uid":")" + (uid.empty() ? name : uid) + R"(","namespace":"a","name":")" +
        name + R"(","resourceVersion":")" + std::to_string(++version_) + R"(","labels":{)" +
        label("name", "llm") + "," + label("group-index", std::to_string(group)) + "," +
        label("worker-index", std::to_string(index)) + R"(},"annotations":{)" + label("size", "2") +
        R"(},"ownerReferences":[{"controller":true,"apiVersion":"apps/v1","kind":"StatefulSet","name":"llm","uid":"S"}]},)" +
        R"("spec":{"schedulingGates":[)" + (gated ? R"({"name":"subak.gpu/queue"})" : "") +
        R"(],"containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":"8"}}}]}})");
    cache.see_pod(event, 0);
  }
  std::vector<std::string> told() {
    std::vector<std::string> out;
    while (auto news = cache.outbox().next(Outbox::kAllPodsKnown)) {
      if (const auto* seen = std::get_if<in::PodSeen>(&news->body)) {
        out.push_back("seen " + seen->pod.uid + " " + seen->pod.gang + " of " + seen->pod.owner +
                      " size " + std::to_string(seen->pod.gang_size));
      } else if (const auto* gone = std::get_if<in::PodGone>(&news->body)) {
        out.push_back("gone " + gone->pod.uid);
      } else if (const auto* gang = std::get_if<in::GangGone>(&news->body)) {
        out.push_back("gang gone " + gang->owner);
      }
    }
    return out;
  }

  ClusterCache cache{"east", {}, default_other_schedulers()};

 private:
  simdjson::dom::parser parser_;
  int version_ = 0;
};

TEST_F(WorkerSet, AGroupWaitsForItsSetToBeSeen) {
  list_sets();
  see_pod(0, 0);
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_TRUE(cache.any_untold());
  see_set(set("U", 1));
  see_pod(0, 1);
  EXPECT_THAT(told(),
              ElementsAre("seen llm-0-0 llm-0 of U+0 size 2", "seen llm-0-1 llm-0 of U+0 size 2"));
}

TEST_F(WorkerSet, OneThatWasSeenTooLateIsReadAgain) {
  list_sets();
  see_pod(0, 0);
  cache.adopt_orphans(limits::kOwnerMs);
  EXPECT_THAT(told(), ElementsAre("seen llm-0-0 llm-0 of  size 2"));
  see_set(set("U", 1));
  EXPECT_THAT(cache.marks().take_outdated(), ElementsAre("llm-0-0"));
  see_pod(0, 0);
  EXPECT_THAT(told(), ElementsAre("gone llm-0-0", "seen llm-0-0 llm-0 of U+0 size 2"));
}

TEST_F(WorkerSet, ItsGroupsAreJobsOfOneWorkload) {
  list_sets();
  see_set(set("s", 2));
  see_pod(0, 0);
  see_pod(1, 0);
  std::vector<PodRecord> records;
  while (auto news = cache.outbox().next(Outbox::kAllPodsKnown)) {
    if (const auto* seen = std::get_if<in::PodSeen>(&news->body)) records.push_back(seen->pod);
  }
  ASSERT_EQ(records.size(), 2u);
  EXPECT_NE(records[0].owner, records[1].owner) << "two gangs";
  for (const PodRecord& record : records)
    EXPECT_EQ(record.owners.workload, (Workload{"LeaderWorkerSet", "llm", "s"}));
}

TEST_F(WorkerSet, ItsEndIsTheEndOfItsGroups) {
  list_sets();
  see_set(set("U", 2));
  for (int group = 0; group < 2; ++group) see_pod(group, 0, WatchKind::kModified, false);
  told();
  see_set(set("U", 2), WatchKind::kDeleted);
  EXPECT_THAT(told(), IsEmpty());  // its pods are there
  see_pod(1, 0, WatchKind::kDeleted, false);
  EXPECT_THAT(told(), ElementsAre("gone llm-1-0", "gang gone U+1"));
  see_pod(0, 0, WatchKind::kDeleted, false);
  EXPECT_THAT(told(), ElementsAre("gone llm-0-0", "gang gone U+0"));
}

TEST_F(WorkerSet, AGroupThatIsMadeAnewIsNotAtItsEnd) {
  list_sets();
  see_set(set("U", 2));
  for (int group = 0; group < 2; ++group) see_pod(group, 0);
  told();
  for (int group = 0; group < 2; ++group) see_pod(group, 0, WatchKind::kDeleted);
  EXPECT_THAT(told(), ElementsAre("gone llm-0-0", "gone llm-1-0"));
  see_set(set("U", 1));  // scaled down
  EXPECT_THAT(told(), ElementsAre("gang gone U+1"));
  see_pod(0, 0, WatchKind::kModified, true, "new");
  EXPECT_THAT(told(), ElementsAre("seen new llm-0 of U+0 size 2"));
}

TEST_F(WorkerSet, AListThatDoesNotNameItEndsItsGroups) {
  see_set(set("U", 1));
  see_pod(0, 0);
  see_pod(0, 0, WatchKind::kDeleted);
  told();
  list_sets();
  EXPECT_THAT(told(), ElementsAre("gang gone U+0"));
}

TEST_F(WorkerSet, AnotherOfTheSameNameHasOtherGroups) {
  see_set(set("U", 1));
  see_pod(0, 0);
  told();
  see_set(set("U", 1), WatchKind::kDeleted);
  see_set(set("V", 1));
  see_pod(0, 0);  // of the former one still
  EXPECT_THAT(told(), IsEmpty());
  see_pod(0, 0, WatchKind::kModified, true, "new");
  EXPECT_THAT(told(), ElementsAre("seen new llm-0 of V+0 size 2"));
}

TEST_F(WorkerSet, PodsWithoutGpusAreNoneOfTheGang) {
  see_set(set("U", 1, R"(,"leaderTemplate":)" + made(0)));
  see_pod(0, 1);
  EXPECT_THAT(told(), ElementsAre("seen llm-0-1  of S size 1"));
}

in::GangSeen WorkerSetsWord(ClusterCache& cache) {
  const auto pod = cache.outbox().next(Outbox::kAllPodsKnown);
  EXPECT_TRUE(pod && std::holds_alternative<in::PodSeen>(pod->body)) << "its leader comes first";
  const auto news = cache.outbox().next(Outbox::kAllPodsKnown);
  return news ? std::get<in::GangSeen>(news->body) : in::GangSeen();
}

TEST_F(WorkerSet, OfALeaderThatComesFirstTheWorkersAreSaid) {
  const std::string first = set("U", 1, R"(},"startupPolicy":"LeaderReady","x":{)");
  see_set(first);
  see_pod(0, 0);
  const in::GangSeen seen = WorkerSetsWord(cache);
  EXPECT_EQ(seen.ns + "/" + seen.gang + " of " + seen.owner, "a/llm-0 of U+0");
  EXPECT_EQ(seen.least, 1u);
  ASSERT_EQ(seen.groups.size(), 2u);
  EXPECT_EQ(seen.groups[1].count, 1u);
  EXPECT_EQ(seen.groups[1].shape.gpus, 8);
  see_pod(0, 0);
  see_set(first);
  EXPECT_THAT(told(), IsEmpty());  // once
  EXPECT_THAT(cache.marks().take_outdated(), IsEmpty());
  see_pod(0, 1);
  EXPECT_THAT(told(), ElementsAre("seen llm-0-1 llm-0 of U+0 size 2"));  // of a leader alone
}

TEST_F(WorkerSet, TheWorkersTemplateCountsWhereItIsAnother) {
  see_set(
      set("U", 1, R"(,"leaderTemplate":)" + made(1) + R"(},"startupPolicy":"LeaderReady","x":{)"));
  see_pod(0, 0);
  const in::GangSeen seen = WorkerSetsWord(cache);
  EXPECT_EQ(seen.groups.at(0).shape.gpus, 8) << "as the pod itself says";
  EXPECT_EQ(seen.groups.at(1).shape.gpus, 8);
  see_set(
      set("U", 1, R"(,"leaderTemplate":)" + made(0) + R"(},"startupPolicy":"LeaderReady","x":{)"));
  EXPECT_THAT(cache.marks().take_outdated(), ElementsAre("llm-0-0"));
  see_pod(0, 0);
  EXPECT_THAT(told(), ElementsAre("gone llm-0-0", "seen llm-0-0  of S size 1"));
}

// Nothing can be suspended: the pods go one by one.
TEST_F(WorkerSet, WhetherALostPodIsMadeAgainByItselfIsItsWord) {
  for (const auto& [policy, alone] : {std::pair("None", true), std::pair("Default", true),
                                      std::pair("RecreateGroupOnPodRestart", false),
                                      std::pair("RecreateGroupAfterStart", false)}) {
    cache.forget_told();
    see_set(set("W", 1, R"(,"restartPolicy":")" + std::string(policy) + "\""));
    see_pod(0, 0);
    const auto pod = std::get<in::PodSeen>(cache.outbox().next(Outbox::kAllPodsKnown)->body).pod;
    EXPECT_EQ(pod.replaced_alone, alone) << policy;
    EXPECT_EQ(pod.gang_size, 2u);
  }
}

TEST_F(WorkerSet, IsTakenBackPodByPod) {
  see_set(set("U", 1));
  see_pod(0, 0, WatchKind::kModified, false);
  WantedJobs jobs;
  Wanted& wanted = jobs[JobId(ClusterId(1), 1)];
  wanted.effect.kind = EffectKind::kEvict;
  wanted.effect.cause = Cause::kExpired;
  wanted.effect.pods.emplace_back().uid = "llm-0-0";
  const Plan plan = plan_writes(jobs, Fence(), cache, {}, 0, 0, 10);
  ASSERT_EQ(plan.writes.size(), 1u);
  EXPECT_EQ(plan.writes[0].kind, WriteKind::kEvict);
}

TEST_F(WorkerSet, WhereItIsNotReadItsPodsAreToldAsTheyAre) {
  see_pod(0, 0);
  EXPECT_THAT(told(), ElementsAre("seen llm-0-0 llm-0 of  size 2"));
}

}  // namespace
}  // namespace subak

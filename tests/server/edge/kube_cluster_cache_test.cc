// What the edge remembers of what it sees, and what it tells the core.
#include <gmock/gmock.h>

#include <map>

#include "core/duration.h"
#include "core/limits.h"
#include "kube_seen.h"

namespace subak {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

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
  EXPECT_FALSE(cache.find_gpu_pod("1")->gpu->gated);
}

TEST_F(Kube, APodIsToldBeforeItsEndIfBothWait) {
  see({"1", 1, false, "n1"});
  see({"1", 2, false, "n1"}, WatchKind::kDeleted);
  EXPECT_THAT(told(), ElementsAre("pod_seen 1", "pod_gone 1"));
  EXPECT_EQ(cache.find_gpu_pod("1"), nullptr);
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
  cache.begin_pods(kNow - 10);
  see({"0", 1, false, "n1"});
  EXPECT_FALSE(cache.complete_pods(kNow));
  EXPECT_THAT(told(), IsEmpty());
  cache.begin_pods(kNow - 10);
  see({"0", 1, false, "n1"});
  EXPECT_TRUE(cache.complete_pods(kNow));
  EXPECT_THAT(told(), SizeIs(39));
}

TEST_F(Kube, AnAnswerIsNoSignOfLife) {
  see({"1", 1, false, "n1"});
  see({"2", 1, false, "n1"});
  see({"2", 2, false, "n1"}, WatchKind::kDeleted);
  told();
  see_answered({"2", 2, false, "n1"});  // it comes late
  EXPECT_EQ(cache.find_gpu_pod("2"), nullptr);
  cache.begin_pods(kNow - 10);
  see_answered({"1", 1, false, "n1"});
  EXPECT_TRUE(cache.complete_pods(kNow));
  EXPECT_THAT(told(), ElementsAre("pod_gone 1"));
}

TEST_F(Kube, AListThatNamesMostIsBelieved) {
  for (int i = 0; i < 40; ++i) see({std::to_string(i), 1, false, "n1"});
  told();
  cache.begin_pods(kNow - 10);
  for (int i = 0; i < 30; ++i) see({std::to_string(i), 1, false, "n1"});
  EXPECT_TRUE(cache.complete_pods(kNow - 5));
  const auto news = cache.outbox().next(Outbox::kAllPodsKnown);
  const auto& gone = std::get<in::PodGone>(news->body);
  EXPECT_EQ(gone.cause, Cause::kVanished);
  EXPECT_EQ(gone.ended_at_ms, kNow - 5);
}

// Its end was not seen; it was still there when the second list began, and nobody heard of pods since.
TEST_F(Kube, AListThatDidNotComeToItsEndSaysWhoWasThere) {
  cache.begin_pods(kNow - 300);
  see({"1", 1, false, "n1"});
  see({"2", 1, false, "n1"});
  cache.begin_pods(kNow - 200);
  see({"1", 1, false, "n1"});
  cache.begin_pods(kNow - 100);
  told();
  see_answered({"1", 1, false, "n1"});  // an answer may be older than the list
  EXPECT_TRUE(cache.complete_pods(0));
  std::map<std::string, TimeMs> ended;
  while (const auto news = cache.outbox().next(Outbox::kAllPodsKnown)) {
    const auto& gone = std::get<in::PodGone>(news->body);
    ended[gone.pod.uid] = gone.ended_at_ms;
  }
  EXPECT_THAT(ended, ElementsAre(testing::Pair("1", kNow - 200), testing::Pair("2", kNow - 300)));
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

TEST_F(Kube, WhyANodeIsNotFitIsTold) {
  const std::string has =
      R"(,"status":{"capacity":{"nvidia.com/gpu":"8"},"allocatable":{"nvidia.com/gpu":"8"})";
  see_node("n1", WatchKind::kModified, has + "}");
  EXPECT_THAT(told(), ElementsAre("node_seen "));
  see_node("n1", WatchKind::kModified,
           has + R"(,"conditions":[{"type":"GpuMemWatch","status":"True","message":"a"}]})");
  const auto news = cache.outbox().next(Outbox::kAllPodsKnown);
  ASSERT_TRUE(news);
  EXPECT_EQ(std::get<in::NodeSeen>(news->body).node.unfit, "condition GpuMemWatch");
  see_node("n1", WatchKind::kModified,
           has + R"(,"conditions":[{"type":"GpuMemWatch","status":"True","message":"b"}]})");
  EXPECT_THAT(told(), IsEmpty()) << "its words change, it does not";
}

TEST_F(Kube, ANodeThatGoesSaysWhen) {
  const std::string silent =
      R"(,"status":{"conditions":[{"type":"Ready","status":"Unknown","lastHeartbeatTime":"2026-01-01T00:00:00Z","lastTransitionTime":"2026-01-01T00:05:00Z"}]})";
  cache.nodes().begin();
  for (const char* name : {"seen", "unlisted"}) see_node(name);
  for (const char* name : {"silent", "unread"}) see_node(name, WatchKind::kModified, silent);
  cache.nodes().see_lease("silent", "2026-01-01T00:04:21Z");
  told();
  for (const char* name : {"seen", "silent", "unread"}) see_node(name, WatchKind::kDeleted);
  cache.nodes().begin();
  EXPECT_TRUE(cache.nodes().complete(kNow - 7, "9"));
  std::map<std::string, TimeMs> went;
  while (auto news = cache.outbox().next(Outbox::kAllPodsKnown)) {
    const auto& gone = std::get<in::NodeGone>(news->body);
    went[gone.node] = gone.at_ms;
  }
  EXPECT_EQ(went, (std::map<std::string, TimeMs>{{"seen", kNow},
                                                 {"silent", 1767225861000},
                                                 {"unread", 1767225600000},
                                                 {"unlisted", kNow - 7}}));
}

// The watch of nodes is ahead of that of pods: what ended there before it went is to be told first.
TEST_F(Kube, ANodeThatGoesWaitsForWordOfItsPods) {
  see_node("n1");
  see_node("n2");
  see({"1", 10, false, "n1"});
  told();
  see_node("n2", WatchKind::kDeleted, R"(,"version":"20")");
  see_node("n1", WatchKind::kDeleted, R"(,"version":"21")");
  EXPECT_TRUE(std::get<in::NodeSeen>(cache.outbox().next(20)->body).node.unschedulable);
  EXPECT_EQ(std::get<in::NodeGone>(cache.outbox().next(20)->body).node, "n2");  // nobody was there
  EXPECT_FALSE(cache.outbox().has_next(20));
  EXPECT_FALSE(cache.outbox().next(0));
  see({"1", 19, false, "n1", "", "Succeeded"});
  EXPECT_EQ(std::get<in::PodSeen>(cache.outbox().next(19)->body).pod.ended, Cause::kFinished);
  EXPECT_TRUE(cache.outbox().has_next(21));
  EXPECT_EQ(std::get<in::NodeGone>(cache.outbox().next(21)->body).node, "n1");
  EXPECT_TRUE(cache.outbox().is_empty());
}

TEST_F(Kube, ANodeThatComesBackMeanwhileIsTold) {
  see_node("n1");
  see({"1", 10, false, "n1"});
  told();
  see_node("n1", WatchKind::kDeleted, R"(,"version":"21")");
  EXPECT_EQ(std::get<in::NodeSeen>(cache.outbox().next(0)->body).node.name, "n1");
  EXPECT_FALSE(cache.outbox().next(0));
  see_node("n1");
  EXPECT_FALSE(std::get<in::NodeSeen>(cache.outbox().next(0)->body).node.unschedulable);
  EXPECT_TRUE(cache.outbox().is_empty());
}

TEST_F(Kube, OfASilentNodeTheLeaseIsTheLastSign) {
  const std::string silent =
      R"(,"status":{"conditions":[{"type":"Ready","status":"Unknown","lastHeartbeatTime":"2026-01-01T00:00:00Z","lastTransitionTime":"2026-01-01T00:05:00Z"}]})";
  see_node("n1", WatchKind::kModified, silent);
  EXPECT_THAT(told(), IsEmpty());
  cache.nodes().see_lease("n1", "2026-01-01T00:04:21.500000Z");
  const auto node = std::get<in::NodeSeen>(cache.outbox().next(Outbox::kAllPodsKnown)->body).node;
  EXPECT_EQ(node.not_ready_since_ms, 1767225861500);
  see_node("n1", WatchKind::kModified, silent);
  EXPECT_THAT(told(), IsEmpty());  // read once
  see_node("n2", WatchKind::kModified, silent);
  cache.nodes().see_lease("n2", "");
  EXPECT_EQ(std::get<in::NodeSeen>(cache.outbox().next(Outbox::kAllPodsKnown)->body)
                .node.not_ready_since_ms,
            1767225600000);
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
  cache.nodes().see_lease("n1", "2026-01-01T00:04:21Z");
  see({"given-up", 2, false, "n1", "", "Running", "", going});
  see_node("n1");
  see({"kept", 2, false, "n1", "", "Running", "", going});
  told();
  see({"given-up", 3, false, "n1", "", "Failed", "", going, ended});
  see({"kept", 3, false, "n1", "", "Failed", "", going, ended});
  std::map<std::string, TimeMs> ends;
  while (auto news = cache.outbox().next(Outbox::kAllPodsKnown)) {
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
  cache.complete_owners(kJobsPath);
  for (const char* uid : {"1", "2"}) see({uid, 1, false, "n1", "j1", "Succeeded"});
  EXPECT_THAT(told(), ::testing::Contains("gang_gone "));
}

// What `gpuKinds` names is a GPU to the webhook, the edge and the fleet alike.
TEST_F(Kube, DevicesOfAnotherMakerAreToldAsGpus) {
  simdjson::dom::parser parser;
  ClusterCache others("east", {"example.com/gpu"}, {});
  WatchEvent event;
  event.kind = WatchKind::kModified;
  event.object = parser.parse(
      R"({"metadata":{"name":"n1"},"status":{"allocatable":{"example.com/gpu":"4"}}})"_padded);
  others.see_node(event, kNow);
  const auto node = others.outbox().next(Outbox::kAllPodsKnown);
  ASSERT_TRUE(node);
  EXPECT_EQ(std::get<in::NodeSeen>(node->body).node.gpus, 4);
  event.object = parser.parse(
      R"({"metadata":{"uid":"u","namespace":"a","name":"p"},"spec":{"schedulingGates":[)"
      R"({"name":"subak.gpu/queue"}],"containers":[{"name":"c","resources":{"limits":)"
      R"({"example.com/gpu":"2"}}}]},"status":{"phase":"Pending"}})"_padded);
  others.see_pod(event, monotonic);
  const auto pod = others.outbox().next(Outbox::kAllPodsKnown);
  ASSERT_TRUE(pod);
  const PodRecord& record = std::get<in::PodSeen>(pod->body).pod;
  EXPECT_EQ(record.shape.kind, GpuKind::kWhole);
  EXPECT_EQ(record.shape.gpus, 2);
  EXPECT_TRUE(record.gated);
}

TEST_F(Kube, WhatNodesStandInIsReadFromTheLabelsNamed) {
  simdjson::dom::parser parser;
  ClusterCache labelled("east", {}, {}, {}, {"rack", "block"});
  WatchEvent event;
  event.kind = WatchKind::kModified;
  event.object = parser.parse(
      R"({"metadata":{"name":"n1","labels":{"rack":"r1","block":"b1","zone":"z"}}})"_padded);
  labelled.see_node(event, kNow);
  const auto node = labelled.outbox().next(Outbox::kAllPodsKnown);
  ASSERT_TRUE(node);
  EXPECT_EQ(std::get<in::NodeSeen>(node->body).node.levels, (std::vector<std::string>{"r1", "b1"}));
}

TEST_F(Kube, WhatCannotBeReadIsCounted) {
  see_text(R"({"metadata":{"name":"x"}})");
  see_node("n1", WatchKind::kModified, R"(,"status":{"allocatable":{"cpu":"many"}})");
  EXPECT_EQ(cache.unreadable().count, 2u);
  EXPECT_THAT(told(), IsEmpty());
}

// It is known, so that what runs there counts, and closed.
TEST_F(Kube, ANodeThatContradictsItselfIsToldAsClosed) {
  const std::string node =
      R"({"metadata":{"name":"m","labels":{"nvidia.com/gpu.product":"NVIDIA-H100-80GB-HBM3",)"
      R"("nvidia.com/gpu.count":"2"}},"status":{"allocatable":{"nvidia.com/gpu":"1",)"
      R"("nvidia.com/mig-1g.10gb":"8"}}})";
  simdjson::dom::parser parser;
  WatchEvent event;
  event.kind = WatchKind::kModified;
  event.object = parser.parse(simdjson::padded_string(node));
  cache.see_node(event, kNow);
  EXPECT_EQ(cache.unreadable().count, 0u);
  const auto news = cache.outbox().next(Outbox::kAllPodsKnown);
  ASSERT_TRUE(news);
  const NodeSpec& told_node = std::get<in::NodeSeen>(news->body).node;
  EXPECT_EQ(told_node.gpus, 2);
  EXPECT_TRUE(told_node.contradicts);
  EXPECT_EQ(told_node.unfit,
            "nvidia.com/gpu 1 and slices 1g.10gb=8 contradicts nvidia.com/gpu.count=2");
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
  cache.owners().begin(kJobsPath);
  cache.complete_owners(kJobsPath);
  see_text(indexed_pod(0));
  EXPECT_THAT(told(), IsEmpty());  // its Job has not been seen
  EXPECT_TRUE(cache.any_untold());
  see_owner(
      R"({"metadata":{"uid":"I","namespace":"a","name":"pair"},"spec":{"completionMode":"Indexed","parallelism":2,"completions":2,)" +
      made + "}}");
  EXPECT_FALSE(cache.any_untold());
  see_text(indexed_pod(1));
  for (int i = 0; i < 2; ++i) {
    const auto pod = std::get<in::PodSeen>(cache.outbox().next(Outbox::kAllPodsKnown)->body).pod;
    EXPECT_EQ(pod.gang, "pair");
    EXPECT_EQ(pod.owner, "I");
    EXPECT_EQ(pod.gang_size, 2u);
    EXPECT_EQ(pod.rank, i);
  }
}

TEST_F(Kube, WhatIsLeftOfAJobIsASmallerGang) {
  const auto job = [](int succeeded) {
    return indexed(3, "", R"({"succeeded":)" + std::to_string(succeeded) + "}");
  };
  see_owner(job(0));
  see({"1", 1, true, "", "I"});
  const auto first = std::get<in::PodSeen>(cache.outbox().next(Outbox::kAllPodsKnown)->body).pod;
  EXPECT_EQ(first.gang_size, 3u);
  see_owner(job(1));
  EXPECT_THAT(cache.marks().take_outdated(), ElementsAre("1"));
  see({"1", 1, true, "", "I"});  // read again
  const auto second = std::get<in::PodSeen>(cache.outbox().next(Outbox::kAllPodsKnown)->body).pod;
  EXPECT_EQ(second.gang_size, 2u);
  EXPECT_EQ(second.gang, "j");
  EXPECT_EQ(second.owner, "I");
  EXPECT_TRUE(second.owners.size_of_owner && second.replaced_alone);
  see_owner(job(1));
  EXPECT_THAT(cache.marks().take_outdated(), IsEmpty());
  see_owner(job(2));
  see({"1", 1, true, "", "I"});
  told();
  see({"2", 1, true, "", "I"});  // the last is still what is left of the same
  const auto third = std::get<in::PodSeen>(cache.outbox().next(Outbox::kAllPodsKnown)->body).pod;
  EXPECT_EQ(third.gang_size, 1u);
  EXPECT_EQ(third.gang, "j");
  EXPECT_EQ(third.owner, "I");
}

TEST_F(Kube, AGangOfUnknownSizeIsTold) {
  const auto worker = [](const std::string& note) {
    return R"({"metadata":{"uid":"w","namespace":"a","name":"w","labels":{"training.kubeflow.org/job-name":"t"},"annotations":{)" +
           note +
           R"(},"ownerReferences":[{"controller":true,"apiVersion":"kubeflow.org/v1","kind":"PyTorchJob","name":"t","uid":"P"}]},)"
           R"("spec":{"schedulingGates":[{"name":"subak.gpu/queue"}],"containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":"8"}}}]}})";
  };
  see_text(worker(""));
  const auto held = std::get<in::PodSeen>(cache.outbox().next(Outbox::kAllPodsKnown)->body).pod;
  EXPECT_EQ(held.gang + " of " + held.owner, "t of P");
  EXPECT_EQ(held.gang_size, 0u);
  EXPECT_THAT(cache.marks().take_unsized(), ElementsAre("w"));
  see_text(worker(R"("subak.gpu/gang-size":"2")"));
  EXPECT_THAT(told(), ElementsAre("pod_gone w", "pod_seen w"));
  EXPECT_THAT(cache.marks().take_unsized(), IsEmpty());
}

TEST_F(Kube, AnOrphanIsToldAfterAWhile) {
  cache.owners().begin(kJobsPath);
  cache.complete_owners(kJobsPath);
  see({"1", 1, true, "", "J"});
  cache.adopt_orphans(monotonic + limits::kOwnerMs - 1);
  EXPECT_THAT(told(), IsEmpty());
  cache.adopt_orphans(monotonic + limits::kOwnerMs);
  EXPECT_THAT(told(), ElementsAre("pod_seen 1"));
  see({"2", 1, true, "", "J"});
  see({"2", 2, true, "", "J"}, WatchKind::kDeleted);
  cache.adopt_orphans(monotonic + 2 * limits::kOwnerMs);
  EXPECT_THAT(told(), IsEmpty());
}

// docs/design/0078.
TEST_F(Kube, ALeaseShowsHowFarANodesClockIsOff) {
  see_node("n1");
  see_node("n2");
  told();
  const auto renew = [&](const std::string& node, TimeMs at, DurationMs after) {
    WatchEvent event;
    event.kind = WatchKind::kModified;
    simdjson::dom::parser parser;
    event.object = parser.parse(R"({"metadata":{"name":")" + node + R"("},"spec":{"renewTime":")" +
                                format_time(at) + "\"}}");
    monotonic += after;
    cache.nodes().see_lease(event, kNow + monotonic, monotonic);
  };
  for (int i = 1; i <= 3; ++i) {
    renew("n1", kNow + monotonic + 5'000 - 20'000, 5'000);
    renew("n2", kNow + monotonic + 5'000, 5'000);
  }
  EXPECT_THAT(cache.nodes().take_outdated(), ElementsAre("n1"));
  EXPECT_THAT(cache.nodes().take_outdated(), IsEmpty()) << "it is read once";
  see_node("n1");  // as it is read: with the same words, and yet it is news
  const auto news = cache.outbox().next(Outbox::kAllPodsKnown);
  ASSERT_TRUE(news);
  EXPECT_EQ(std::get<in::NodeSeen>(news->body).node.clock_behind_ms, 20'000);
  see({"1", 1, false, "n1"});
  EXPECT_EQ(cache.outbox().next(Outbox::kAllPodsKnown)->clock, "n1")
      << "its kubelet says when it ends";
  see({"1", 2, false, "n1"}, WatchKind::kDeleted);
  EXPECT_EQ(cache.outbox().next(Outbox::kAllPodsKnown)->clock, "n1");
}

TEST_F(Kube, WhatTheCoreHadNoRoomForIsToldAgain) {
  see({"1"});
  EXPECT_THAT(told(), ElementsAre("pod_seen 1"));
  see_answered({"1"});
  EXPECT_THAT(told(), IsEmpty());
  cache.tell_again("1");
  cache.tell_again("gone");
  EXPECT_THAT(cache.marks().take_outdated(), ElementsAre("1"));
  see_answered({"1"});
  EXPECT_THAT(told(), ElementsAre("pod_seen 1"));
}

}  // namespace
}  // namespace subak

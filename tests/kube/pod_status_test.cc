// What the cluster says of a pod, and the record that the engine takes of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/pod.h"
#include "pods.h"

namespace subak {
namespace {

using test::container;

TEST(PodRecordTest, SaysThatItHasEnded) {
  const auto record = [](const std::string& status) {
    return *pod_record_from_json(R"({"metadata":{"uid":"u1","namespace":"a","name":"p"},"spec":{)"
                                 R"("nodeName":"n1"},"status":{)" +
                                 status + "}}");
  };
  const auto ended = [](const std::string& at) {
    return R"({"state":{"terminated":{"finishedAt":")" + at + R"("}}})";
  };
  const PodRecord well =
      record(R"("phase":"Succeeded","containerStatuses":[)" + ended("1970-01-01T00:00:07Z") + "," +
             ended("1970-01-01T00:00:05Z") + "]");
  EXPECT_EQ(well.ended, Cause::kFinished);
  EXPECT_EQ(well.ended_at_ms, 7000);
  EXPECT_FALSE(well.running);
  const PodRecord ill = record(R"("phase":"Failed","reason":"Evicted")");
  EXPECT_EQ(ill.ended, Cause::kFailed);
  EXPECT_EQ(ill.ended_at_ms, 0) << "nobody says when";
  const PodRecord lives =
      record(R"("phase":"Running","containerStatuses":[)" + ended("1970-01-01T00:00:07Z") + "]");
  EXPECT_EQ(lives.ended, Cause::kNone) << "one container of it has ended";
  EXPECT_EQ(lives.ended_at_ms, 0);
}

PodRecord record_of(const std::string& metadata, const std::string& spec,
                    const std::string& status) {
  return *pod_record_from_json(R"({"metadata":{"uid":"u1","namespace":"a","name":"p")" + metadata +
                               R"(},"spec":{"containers":[)" + container("nvidia.com/gpu", "1") +
                               "]" + spec + R"(},"status":{)" + status + "}}");
}

TEST(PodRecordTest, TheLastContainerOfAnyKindEndsIt) {
  const PodRecord r = record_of(
      "", R"(,"nodeName":"n1")",
      R"("phase":"Succeeded",)"
      R"("containerStatuses":[{"state":{"terminated":{"finishedAt":"1970-01-01T00:00:05Z"}}}],)"
      R"("initContainerStatuses":[{"state":{"terminated":{"finishedAt":"1970-01-01T00:00:09Z"}}}],)"
      R"("ephemeralContainerStatuses":[{"state":{"terminated":{"finishedAt":"x"}},"lastState":{}}])");
  EXPECT_EQ(r.ended, Cause::kFinished);
  EXPECT_EQ(r.ended_at_ms, 0) << "a text that is no time counts as none";
  const PodRecord sidecar = record_of(
      "", R"(,"nodeName":"n1")",
      R"("phase":"Succeeded",)"
      R"("containerStatuses":[{"state":{"terminated":{"finishedAt":"1970-01-01T00:00:05Z"}}}],)"
      R"("initContainerStatuses":[{"state":{"terminated":{"finishedAt":"1970-01-01T00:00:09Z"}}}])");
  EXPECT_EQ(sidecar.ended_at_ms, 9000);
}

TEST(PodRecordTest, WhyItFailed) {
  const auto cause = [](const std::string& status) {
    return record_of("", R"(,"nodeName":"n1")", R"("phase":"Failed",)" + status).ended;
  };
  EXPECT_EQ(cause(R"("reason":"UnexpectedAdmissionError")"), Cause::kRejected);
  EXPECT_EQ(cause(R"("reason":"OutOfnvidia.com/gpu","containerStatuses":[])"), Cause::kRejected);
  EXPECT_EQ(cause(R"("reason":"UnexpectedAdmissionError","containerStatuses":[{"state":{}}])"),
            Cause::kFailed)
      << "a container of it was made";
  EXPECT_EQ(cause(R"("reason":"DeadlineExceeded")"), Cause::kFailed);
  const auto disrupted = [&](const std::string& reason, const std::string& holds = "True") {
    return cause(R"("conditions":[{"type":"DisruptionTarget","status":")" + holds +
                 R"(","reason":")" + reason + R"("}])");
  };
  EXPECT_EQ(disrupted("PreemptionByScheduler"), Cause::kPreempted);
  EXPECT_EQ(disrupted("DeletionByPodGC"), Cause::kNodeLost);
  EXPECT_EQ(disrupted("DeletionByTaintManager"), Cause::kNodeLost);
  EXPECT_EQ(disrupted("DeletionByTaintManager", "False"), Cause::kFailed);
  EXPECT_EQ(disrupted("EvictionByEvictionAPI"), Cause::kEvicted);
  EXPECT_EQ(disrupted("TerminationByKubelet"), Cause::kEvicted);
  EXPECT_EQ(disrupted("EvictionByEvictionAPI", "False"), Cause::kFailed);
}

TEST(PodRecordTest, WhatTheKubeletSaidOfARejectedPod) {
  const auto record = [](const std::string& status) {
    return record_of("", R"(,"nodeName":"n1")", R"("phase":"Failed",)" + status);
  };
  const PodRecord rejected = record(
      R"("reason":"TopologyAffinityError","message":"Resources cannot\nbe allocated \u0007with it")");
  EXPECT_EQ(rejected.rejection.error, "TopologyAffinityError");
  EXPECT_EQ(rejected.rejection.words, "Resources cannot be allocated with it") << "one line";
  const PodRecord ran = record(
      R"("reason":"UnexpectedAdmissionError","message":"m","containerStatuses":[{"state":{}}])");
  EXPECT_EQ(ran.rejection, Rejection()) << "a container of it was made";
  EXPECT_EQ(record(R"("reason":"Evicted","message":"low on memory")").rejection, Rejection());
  const PodRecord lengthy = record(R"("reason":")" + std::string(9000, 'a') + R"(","message":")" +
                                   std::string(9000, 'b') + R"(")");
  EXPECT_EQ(lengthy.ended, Cause::kRejected);
  EXPECT_LE(lengthy.rejection.error.size(), limits::kMaxNameBytes);
  EXPECT_LE(lengthy.rejection.words.size(), limits::kMaxTextBytes);
}

TEST(PodStatusTest, WhyItIsNotReady) {
  const auto why = [](const std::string& status) {
    simdjson::dom::parser parser;
    const std::string text = "{" + status + "}";
    PodStatus out;
    read_status(parser.parse(text), out);
    return why_not_ready(out);
  };
  const std::string unready =
      R"("phase":"Pending","conditions":[{"type":"Ready","status":"False","reason":"ContainersNotReady",)"
      R"("message":"containers with unready status: [main]","lastTransitionTime":"1970-01-01T00:01:40Z"}])";
  EXPECT_EQ(why(unready), "ContainersNotReady: containers with unready status: [main]");
  const auto waits = [](const std::string& list, const std::string& name,
                        const std::string& reason) {
    return ",\"" + list + R"(":[{"name":")" + name + R"(","state":{"waiting":{"reason":")" +
           reason + R"(","message":"no\nsuch image"}}}])";
  };
  EXPECT_EQ(why(unready + waits("containerStatuses", "main", "ImagePullBackOff")),
            "container main waits: ImagePullBackOff: no such image");
  EXPECT_EQ(why(unready + waits("initContainerStatuses", "fetch", "CrashLoopBackOff") +
                waits("containerStatuses", "main", "PodInitializing")),
            "container fetch waits: CrashLoopBackOff: no such image");
  const std::string done =
      R"(,"containerStatuses":[{"name":"main","state":{"terminated":{"exitCode":0}}},{"name":"side"}])";
  EXPECT_EQ(why(unready + done), "") << "a part of it has done its work";
  EXPECT_NE(why(unready + R"(,"initContainerStatuses":[{"state":{"terminated":{"exitCode":0}}}])"),
            "");
  EXPECT_NE(why(unready + R"(,"containerStatuses":[{"state":{"terminated":{"exitCode":1}}}])"), "");
  EXPECT_EQ(why(R"("phase":"Running","conditions":[{"type":"Ready","status":"True"}])"), "");
  EXPECT_EQ(why(R"("phase":"Succeeded",)" + unready.substr(18)), "");
  EXPECT_EQ(why(R"("phase":"Pending")"), "") << "it is on no node";
  EXPECT_LE(why(unready + waits("containerStatuses", std::string(5000, 'm'), "x")).size(),
            limits::kMaxRefusalBytes);
}

TEST(PodRecordTest, WhatIsBeingDeletedHoldsOnlyWhatItHas) {
  const std::string deleted =
      R"(,"deletionTimestamp":"1970-01-01T00:01:40Z","deletionGracePeriodSeconds":30)";
  const PodRecord waits = record_of(deleted, "", R"("phase":"Pending")");
  EXPECT_EQ(waits.ended, Cause::kCancelled);
  EXPECT_EQ(waits.ended_at_ms, 70'000) << "when its deletion was asked for";
  const PodRecord runs = record_of(deleted, R"(,"nodeName":"n1")", R"("phase":"Running")");
  EXPECT_EQ(runs.ended, Cause::kNone);
  const PodRecord done = record_of(deleted, R"(,"nodeName":"n1")", R"("phase":"Succeeded")");
  EXPECT_EQ(done.ended, Cause::kFinished);
  const PodRecord odd = record_of(
      R"(,"deletionTimestamp":"1970-01-01T00:00:10Z","deletionGracePeriodSeconds":99999999999)", "",
      "");
  EXPECT_EQ(odd.ended_at_ms, 0);
}

TEST(PodRecordTest, GatesOfOthersAndThePlaceThatOursWasOpenedFor) {
  const std::string ours = R"({"name":"subak.gpu/queue"})", theirs = R"({"name":"a.b/c"})";
  const auto gates = [](const std::string& list) { return R"(,"schedulingGates":[)" + list + "]"; };
  EXPECT_FALSE(record_of("", gates(ours), "").foreign_gates);
  EXPECT_TRUE(record_of("", gates(ours + "," + theirs), "").foreign_gates);
  EXPECT_TRUE(record_of("", gates(theirs), "").foreign_gates);
  EXPECT_FALSE(record_of("", gates(theirs), "").gated);

  const auto pin = [](const std::string& node) {
    return R"({"matchFields":[{"key":"metadata.name","operator":"In","values":[")" + node +
           R"("]}]})";
  };
  const auto affinity = [](const std::string& terms) {
    return R"(,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
           R"({"nodeSelectorTerms":[)" +
           terms + "]}}}";
  };
  EXPECT_EQ(record_of("", affinity(pin("n7")), "").let_go_to, "n7");
  EXPECT_EQ(record_of("", affinity(pin("n7") + ",{}," + pin("n7")), "").let_go_to, "n7");
  EXPECT_EQ(record_of("", affinity(pin("n7") + "," + pin("n8")), "").let_go_to, "");
  EXPECT_EQ(record_of("", affinity(pin("n7")) + gates(ours), "").let_go_to, "") << "still closed";
  EXPECT_EQ(record_of("", affinity(R"({"matchExpressions":[{"key":"a","operator":"Exists"}]})"), "")
                .let_go_to,
            "");
}

TEST(PodStatusTest, TheSchedulersWords) {
  const auto words = [](const std::string& condition) {
    simdjson::dom::parser parser;
    const std::string text =
        R"({"spec":{},"status":{"conditions":[{"type":"PodScheduled",)" + condition + "}]}}";
    return std::string(read_pod(parser.parse(text), {}).status.unschedulable);
  };
  EXPECT_EQ(words(R"("status":"False","reason":"Unschedulable","message":"0/4 nodes")"),
            "0/4 nodes");
  EXPECT_EQ(words(R"("status":"False","reason":"Unschedulable")"), "Unschedulable");
  EXPECT_EQ(words(R"("status":"False","reason":"SchedulingGated","message":"gates")"), "");
  EXPECT_EQ(words(R"("status":"True")"), "");
}

// Of a pod alone that waits: what makes another in its place.
TEST(PodRecordTest, NamesWhatMakesAPodAnew) {
  const auto owner = [](const std::string& metadata, const std::string& spec) {
    return pod_record_from_json(R"({"metadata":{"uid":"u1","namespace":"a","name":"t")" + metadata +
                                R"(},"spec":{"containers":[)" + container("nvidia.com/gpu", "8") +
                                "]" + spec + "}}")
        ->owner;
  };
  const std::string job =
      R"(,"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"t","uid":"o1","controller":true}])";
  const std::string gated = R"(,"schedulingGates":[{"name":"subak.gpu/queue"}])";
  EXPECT_EQ(owner(job, gated), "o1");
  EXPECT_EQ(owner(job, ""), "") << "it waits for nothing";
  EXPECT_EQ(owner("", gated), "");
}

TEST(PodRecordTest, CarriesEverything) {
  const std::string text =
      R"({"metadata":{"uid":"u1","namespace":"team-a","name":"t-0","labels":{"subak.gpu/account":"ml.vision",
      "subak.gpu/user":"ana","subak.gpu/job":"train","subak.gpu/gang-size":"4"},
      "ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"t","uid":"o1","controller":true}]},
      "spec":{"nodeName":"n1","terminationGracePeriodSeconds":600,
      "schedulingGates":[{"name":"subak.gpu/queue"}],"containers":[)" +
      container("nvidia.com/gpu", "8") +
      R"(]},"status":{"phase":"Running","conditions":[{"type":"PodScheduled","status":"True",
      "lastTransitionTime":"1970-01-01T00:00:05Z"}]}})";
  const auto r = pod_record_from_json(text);
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r->uid, "u1");
  EXPECT_EQ(r->ns, "team-a");
  EXPECT_EQ(r->name, "t-0");
  EXPECT_EQ(r->account, "ml.vision");
  EXPECT_EQ(r->user, "ana");
  EXPECT_EQ(r->gang, "train");
  EXPECT_EQ(r->gang_size, 4u);
  EXPECT_EQ(r->shape.gpus, 8);
  EXPECT_TRUE(r->gated && r->controlled && r->running);
  EXPECT_FALSE(r->other_manager);
  EXPECT_EQ(r->node, "n1");
  EXPECT_EQ(r->bound_at_ms, 5000);
  EXPECT_EQ(r->grace_ms, 600'000);
  EXPECT_FALSE(pod_record_from_json("[]").ok());
  // Our gate says whose the pod is; a mark alone says so only where nobody gates.
  const std::string kueue = R"("uid":"u","labels":{"kueue.x-k8s.io/queue-name":"q"})";
  const std::string gate = R"(,"schedulingGates":[{"name":"subak.gpu/queue"}])";
  EXPECT_TRUE(
      pod_record_from_json(test::pod(container("nvidia.com/gpu", "1"), kueue))->other_manager);
  EXPECT_FALSE(pod_record_from_json(test::pod(container("nvidia.com/gpu", "1"), kueue, gate))
                   ->other_manager);
  EXPECT_FALSE(pod_record_from_json("{").ok());
}

}  // namespace
}  // namespace subak

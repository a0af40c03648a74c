#include "kube/owner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/limits.h"
#include "pods.h"

namespace subak {
namespace {

using test::container;
using ::testing::HasSubstr;

Result<OwnerRecord> read(const std::string& text) {
  simdjson::dom::parser parser;
  return read_owner(parser.parse(text), {});
}

std::string object(std::string_view version, std::string_view kind, std::string_view spec,
                   std::string_view status = "{}") {
  return R"({"apiVersion":")" + std::string(version) + R"(","kind":")" + std::string(kind) +
         R"(","metadata":{"uid":"u1","name":"o","namespace":"a","resourceVersion":"7"},"spec":{)" +
         std::string(spec) + R"(},"status":)" + std::string(status) + "}";
}
std::string made(std::string_view gpus = "8", std::string_view annotations = "") {
  return R"("template":)" + test::pod(container("nvidia.com/gpu", gpus),
                                      R"("annotations":{)" + std::string(annotations) + "}");
}
std::string job(std::string_view spec, std::string_view status = "{}") {
  return object("batch/v1", "Job", spec, status);
}

TEST(Owner, AnIndexedJobOfAllItsCompletionsIsAGang) {
  const auto o =
      read(job(R"("completionMode":"Indexed","completions":64,"parallelism":64,)" + made()));
  ASSERT_TRUE(o.ok()) << o.error().message();
  EXPECT_EQ(o->together, Together::kAll);
  EXPECT_EQ(o->gang_size(0), 64u);
  EXPECT_EQ(o->roles.at(0).shape.gpus, 8);
  EXPECT_EQ(o->ns + "/" + o->name + "@" + o->uid + ":" + o->resource_version, "a/o@u1:7");
  EXPECT_EQ(o->suspended, false);
  EXPECT_EQ(o->backoff_limit, 6);
}

TEST(Owner, PodsThatClaimDevicesCountInTheGang) {
  const std::string claims =
      R"("template":{"spec":{"resourceClaims":[{"name":"d","resourceClaimTemplateName":"four"}],)"
      R"("containers":[{"name":"c","resources":{"claims":[{"name":"d"}]}}]}})";
  const auto o =
      read(job(R"("completionMode":"Indexed","completions":2,"parallelism":2,)" + claims));
  ASSERT_TRUE(o.ok()) << o.error().message();
  EXPECT_EQ(o->roles.at(0).shape.kind, GpuKind::kNone);
  EXPECT_TRUE(o->roles.at(0).has_gpus());
  EXPECT_EQ(o->gang_size(0), 2u);
}

// kueue#13482, KEP-3850: each index fails, and is made again, by itself.
TEST(Owner, IndexesThatFailByThemselvesAreNoGang) {
  const std::string spec = R"("completionMode":"Indexed","completions":3,"parallelism":3,)"
                           R"("backoffLimitPerIndex":0,"maxFailedIndexes":2,)";
  const auto o = read(job(spec + made(), R"({"succeeded":1,"failedIndexes":"1"})"));
  EXPECT_EQ(o->together, Together::kNone);
  EXPECT_EQ(o->gang_size(0), 1u);
  EXPECT_EQ(o->roles.at(0).pods, 1u) << "no more can come";
  EXPECT_EQ(o->backoff_limit_per_index, 0);
  EXPECT_EQ(o->max_failed_indexes, 2);
  EXPECT_EQ(o->failed_indexes, 1);
  EXPECT_FALSE(read(job(made()))->backoff_limit_per_index);
  const std::string declared = made("1", R"("subak.gpu/gang-size":"3")");
  EXPECT_EQ(read(job(spec + declared))->gang_size(0), 3u) << "its people say that it is one";
}

TEST(Owner, FailedIndexesAreCounted) {
  const auto failed = [](const std::string& text) {
    return read(job(made(), R"({"failedIndexes":")" + text + "\"}"))->failed_indexes;
  };
  EXPECT_EQ(failed(""), 0);
  EXPECT_EQ(failed("7"), 1);
  EXPECT_EQ(failed("1,3-5,7"), 5);
  EXPECT_EQ(failed("0-99999999999"), limits::kMaxPodsPerJob + 1);
  EXPECT_EQ(failed("5-3,x,-1,,2-"), 0) << "what is no index counts nothing";
}

TEST(Owner, OnlyWhatAnOwnerDeclaresEndsTogether) {
  const std::string whole = R"("completionMode":"Indexed","completions":4,"parallelism":4,)";
  EXPECT_TRUE(read(job(whole + made()))->replaced_alone) << "that it is a gang is inferred";
  EXPECT_FALSE(read(job(whole + made("1", R"("subak.gpu/gang-size":"4")")))->replaced_alone);
}

TEST(Owner, AJobWhoseEndIsDecidedMakesNoMorePods) {
  for (const std::string type : {"SuccessCriteriaMet", "FailureTarget", "Complete", "Failed"}) {
    const std::string condition = R"({"conditions":[{"type":")" + type + R"(","status":"True"}]})";
    EXPECT_TRUE(read(job(R"("successPolicy":{"rules":[]},)" + made(), condition))->ended) << type;
  }
  EXPECT_TRUE(read(job(R"("successPolicy":{"rules":[]},)" + made()))->success_policy);
}

TEST(Owner, AnOrdinaryJobIsElastic) {
  for (const std::string spec :
       {R"("completions":64,"parallelism":8,)", R"("parallelism":8,)",
        R"("completionMode":"Indexed","completions":9,"parallelism":8,)"}) {
    const auto o = read(job(spec + made()));
    EXPECT_EQ(o->together, Together::kNone) << spec;
    EXPECT_EQ(o->roles.at(0).pods, 8u) << spec;
    EXPECT_EQ(o->gang_size(0), 1u) << spec;
  }
  EXPECT_EQ(read(job(made()))->roles.at(0).pods, 1u);
  const auto late =
      read(job(R"("completions":64,"parallelism":8,)" + made(), R"({"succeeded":60})"));
  EXPECT_EQ(late->roles.at(0).pods, 4u) << "no more come than are left to do";
}

TEST(Owner, TheTemplateMaySayTheSize) {
  const std::string whole = R"("completionMode":"Indexed","completions":8,"parallelism":8,)";
  const auto no = read(job(whole + made("1", R"("subak.gpu/gang-size":"1")")));
  EXPECT_EQ(no->together, Together::kNone);
  EXPECT_EQ(no->gang_size(0), 1u);
  const auto four = read(job(R"("parallelism":8,)" + made("1", R"("subak.gpu/gang-size":"4")")));
  EXPECT_EQ(four->together, Together::kAll);
  EXPECT_EQ(four->gang_size(0), 4u);
  const auto typo = read(job(R"("parallelism":8,)" + made("1", R"("subak.gpu/gang-size":"4abc")")));
  EXPECT_EQ(typo->gang_size(0), 1u) << "as the pods themselves are read";
  ASSERT_TRUE(typo->roles.at(0).wrong);
  EXPECT_THAT(typo->roles.at(0).wrong->field, HasSubstr("subak.gpu/gang-size"));
}

TEST(Owner, WhatAJobSaysOfItself) {
  const auto o = read(job(R"("suspend":true,"backoffLimit":3,"activeDeadlineSeconds":60,)" + made(),
                          R"({"failed":2,"conditions":[{"type":"Complete","status":"False"},)"
                          R"({"type":"Failed","status":"True"}]})"));
  EXPECT_EQ(o->suspended, true);
  EXPECT_TRUE(o->ended && o->has_deadline);
  EXPECT_FALSE(o->deleted);
  EXPECT_EQ(o->backoff_limit, 3);
  EXPECT_EQ(o->failed, 2);
  EXPECT_FALSE(
      read(job(made(), R"({"conditions":[{"type":"Suspended","status":"True"}]})"))->ended);
}

std::string replicated(std::string_view name, int copies, int pods, std::string_view gpus,
                       std::string_view more = "") {
  return R"({"name":")" + std::string(name) + R"(","replicas":)" + std::to_string(copies) +
         std::string(more) + R"(,"template":{"spec":{"parallelism":)" + std::to_string(pods) +
         R"(,"completions":)" + std::to_string(pods) + "," + made(gpus) + "}}}";
}
std::string job_set(std::string_view jobs, std::string_view more = "") {
  return object("jobset.x-k8s.io/v1alpha2", "JobSet",
                R"("replicatedJobs":[)" + std::string(jobs) + "]" + std::string(more));
}

TEST(Owner, AJobSetIsOneGangOfItsGpuPods) {
  const auto o =
      read(job_set(replicated("launcher", 1, 1, "0") + "," + replicated("worker", 4, 2, "8")));
  ASSERT_TRUE(o.ok());
  EXPECT_EQ(o->together, Together::kAll);
  ASSERT_EQ(o->roles.size(), 2u);
  EXPECT_EQ(o->roles[1].name, "worker");
  EXPECT_EQ(o->roles[1].copies * o->roles[1].pods, 8u);
  EXPECT_EQ(o->gang_size(1), 8u) << "the launcher has no GPUs";
}

TEST(Owner, JobsOfAJobSetThatComeInOrderAreGangsByThemselves) {
  const std::string two = replicated("a", 1, 4, "8") + "," + replicated("b", 2, 2, "8");
  const auto ordered =
      read(job_set(two, R"(,"suspend":true,"startupPolicy":{"startupPolicyOrder":"InOrder"})"));
  EXPECT_EQ(ordered->together, Together::kEachJob);
  EXPECT_TRUE(ordered->in_order);
  EXPECT_EQ(ordered->suspended, true);
  EXPECT_EQ(ordered->gang_size(0), 4u);
  EXPECT_EQ(ordered->gang_size(1), 2u);
  const auto depends =
      read(job_set(replicated("b", 1, 2, "8", R"(,"dependsOn":[{"name":"a","status":"Ready"}])")));
  EXPECT_EQ(depends->together, Together::kEachJob);
  EXPECT_EQ(read(job_set(two, R"(,"startupPolicy":{"startupPolicyOrder":"AnyOrder"})"))->together,
            Together::kAll);
}

TEST(Owner, AJobSetMaySayThatPartsOfItRestartByThemselves) {
  const std::string two = replicated("a", 1, 4, "8") + "," + replicated("b", 2, 2, "8");
  const auto rules = [&](const std::string& action) {
    return read(job_set(two, R"(,"failurePolicy":{"rules":[{"action":")" + action + "\"}]}"));
  };
  EXPECT_FALSE(read(job_set(two))->replaced_alone);
  for (const std::string action : {"RestartJob", "RestartJobAndIgnoreMaxRestarts"}) {
    EXPECT_TRUE(rules(action)->replaced_alone) << action;
  }
  for (const std::string action :
       {"FailJobSet", "RestartJobSet", "RestartJobSetAndIgnoreMaxRestarts"}) {
    EXPECT_FALSE(rules(action)->replaced_alone) << action;
  }
  std::string sweep = replicated("b", 2, 2, "8");
  sweep.replace(sweep.find(R"("parallelism")"), 0, R"("backoffLimitPerIndex":1,)");
  const auto mixed = read(job_set(replicated("a", 1, 4, "8") + "," + sweep));
  EXPECT_EQ(mixed->gang_size(0), 4u);
  EXPECT_EQ(mixed->gang_size(1), 1u) << "its indexes fail by themselves";
}

TEST(Owner, OfAJobSetWithExclusiveTopologyTheFirstPodsComeFirst) {
  const std::string mark = R"("alpha.jobset.sigs.k8s.io/exclusive-topology":"rack")";
  const auto set = [](const std::string& notes) {
    return read(
        R"({"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","metadata":{"uid":"u","name":"s","annotations":{)" +
        notes + R"(}},"spec":{"replicatedJobs":[)" + replicated("a", 2, 2, "8") + "]}}");
  };
  EXPECT_TRUE(set(mark)->first_of_each_job);
  EXPECT_FALSE(set("")->first_of_each_job);
  EXPECT_FALSE(set(mark + R"(,"alpha.jobset.sigs.k8s.io/node-selector":"true")")->first_of_each_job)
      << "its pods are pinned by labels of the nodes, and all made at once";
}

TEST(Owner, EachReplicaOfALeaderWorkerSetIsAGang) {
  const auto set = [](const std::string& group, const std::string& more = "") {
    return read(object("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet",
                       R"("replicas":3,"leaderWorkerTemplate":{"size":4,)" + group + "}" + more));
  };
  const std::string pod = test::pod(container("nvidia.com/gpu", "8"));
  const auto o = set(R"("workerTemplate":)" + pod, R"(,"startupPolicy":"LeaderReady")");
  ASSERT_TRUE(o.ok());
  EXPECT_EQ(o->together, Together::kEachReplica);
  EXPECT_TRUE(o->leader_first);
  ASSERT_EQ(o->roles.size(), 2u);
  EXPECT_EQ(o->roles[0].name, "leader");
  EXPECT_EQ(o->roles[0].shape.gpus, 8) << "made from the workers' template";
  EXPECT_EQ(o->roles[1].pods, 3u);
  EXPECT_EQ(o->gang_size(0), 4u);
  EXPECT_EQ(o->suspended, std::nullopt);
  const auto light = set(R"("workerTemplate":)" + pod + R"(,"leaderTemplate":)" +
                         test::pod(container("cpu", "1")));
  EXPECT_EQ(light->gang_size(1), 3u) << "the leader has no GPUs";
  EXPECT_FALSE(light->leader_first);
  EXPECT_FALSE(o->replaced_alone);
  EXPECT_TRUE(set(R"("restartPolicy":"None","workerTemplate":)" + pod)->replaced_alone);
}

TEST(Owner, OthersMakeSinglePods) {
  for (const std::string_view kind : {"StatefulSet", "Deployment", "ReplicaSet"}) {
    const auto o = read(object("apps/v1", kind, R"("replicas":5,)" + made()));
    ASSERT_TRUE(o.ok());
    EXPECT_EQ(enum_name(o->kind), kind);
    EXPECT_EQ(o->together, Together::kNone);
    EXPECT_EQ(o->roles.at(0).copies, 5u);
    EXPECT_EQ(o->gang_size(0), 1u);
  }
}

TEST(Owner, MistakesOfATemplateAreKept) {
  const auto o = read(job(made("0.5")));
  ASSERT_TRUE(o.ok());
  ASSERT_TRUE(o->roles.at(0).wrong);
  EXPECT_THAT(o->roles[0].wrong->field, HasSubstr("spec.template.spec.containers[0]"));
}

TEST(Owner, Refuses) {
  EXPECT_EQ(read(object("v1", "ReplicationController", "")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(read(object("batch.example.com/v1", "Job", "")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(read(R"({"apiVersion":"batch/v1","kind":"Job"})").error().field, "metadata.uid");
  const auto many = read(
      job(R"("completionMode":"Indexed","completions":99999999999,"parallelism":99999999999,)" +
          made()));
  ASSERT_FALSE(many.ok());
  EXPECT_THAT(many.error().message(), HasSubstr(std::to_string(limits::kMaxPodsPerJob)));
  std::string jobs = replicated("r", 1, 1, "8");
  for (std::size_t i = 0; i < limits::kMaxTemplates; ++i) jobs += "," + replicated("r", 1, 1, "8");
  EXPECT_THAT(read(job_set(jobs)).error().message(),
              HasSubstr(std::to_string(limits::kMaxTemplates)));
}

}  // namespace
}  // namespace subak

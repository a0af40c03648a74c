// What is read of the owners of each operator, and of the groups that pods name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/limits.h"
#include "kube/owner.h"
#include "kube/owners/kinds.h"
#include "pods.h"

namespace subak {
namespace {

using test::container;

Result<OwnerRecord> read_object(const std::string& version, const std::string& kind,
                                const std::string& spec, const std::string& status = "{}") {
  simdjson::dom::parser parser;
  return read_owner(
      parser.parse(R"({"apiVersion":")" + version + R"(","kind":")" + kind +
                   R"(","metadata":{"uid":"u1","name":"o","namespace":"a"},"spec":{)" + spec +
                   R"(},"status":)" + status + "}"),
      {});
}

std::string made(int gpus) {
  return R"("template":)" + (gpus == 0
                                 ? test::pod(container("cpu", "1"))
                                 : test::pod(container("nvidia.com/gpu", std::to_string(gpus))));
}
std::string replicas(const std::string& type, int count, int gpus) {
  return "\"" + type + R"(":{"replicas":)" + std::to_string(count) + "," + made(gpus) + "}";
}

std::vector<std::string> sizes(const Result<OwnerRecord>& owner) {
  std::vector<std::string> out;
  if (!owner.ok()) return {owner.error().message()};
  for (std::size_t i = 0; i < owner->roles.size(); ++i) {
    out.push_back(owner->roles[i].name + " " + std::to_string(owner->gang_size(i)));
  }
  return out;
}

TEST(OwnerKinds, EachKindHasARow) {
  for (const OwnerKindRow& row : owner_kinds()) {
    EXPECT_EQ(&row_of(row.kind), &row);
    EXPECT_NE(row.read, nullptr) << row.name;
    for (const std::string_view version : row.versions) {
      if (version.empty()) continue;
      const std::string path = collection_of(row, version);
      EXPECT_EQ(find_collection(path), &row) << path;
      EXPECT_EQ(find_owner_kind(std::string(row.group) + "/" + std::string(version), row.name),
                &row);
    }
  }
  EXPECT_EQ(collection_of(row_of(OwnerKind::kMpiJob), "v2beta1"),
            "/apis/kubeflow.org/v2beta1/mpijobs");
  for (const char* path : {"", "/api/v1/pods", "/apis/batch/v9/jobs", "/apis/batch/v1/jobsets",
                           "/apis/batchX/v1/jobs", "/apis/batch/v1/jobs/x"}) {
    EXPECT_EQ(find_collection(path), nullptr) << path;
  }
  EXPECT_EQ(find_owner_kind("kubeflow.org/v9", "MPIJob"), &row_of(OwnerKind::kMpiJob))
      << "the version of a reference does not matter";
  EXPECT_EQ(find_owner_kind("example.com/v1", "MPIJob"), nullptr);
  EXPECT_EQ(find_owner_kind("batch.volcano.sh/v1alpha1", "Job"), &row_of(OwnerKind::kVolcanoJob));
}

TEST(OwnerKinds, DiscoverySaysWhatIsServed) {
  simdjson::dom::parser parser;
  const auto served = [&](const std::string& resources) {
    return is_served(row_of(OwnerKind::kMpiJob),
                     parser.parse(R"({"resources":)" + resources + "}"));
  };
  const std::string verbs = R"(,"verbs":["get","list","watch"]})";
  EXPECT_TRUE(served(R"([{"name":"tfjobs","kind":"TFJob"},{"name":"mpijobs","kind":"MPIJob")" +
                     verbs + "]"));
  EXPECT_FALSE(served(R"([{"name":"mpijobs/status","kind":"MPIJob")" + verbs + "]"));
  EXPECT_FALSE(served(R"([{"name":"mpijobs","kind":"Other")" + verbs + "]"));
  EXPECT_FALSE(served(R"([{"name":"mpijobs","kind":"MPIJob","verbs":["get","list"]}])"));
  EXPECT_FALSE(served(R"({"name":"mpijobs"})"));
  EXPECT_FALSE(served("null"));
}

TEST(OwnerKinds, AKubeflowJobIsOneGangOfItsGpuPods) {
  const auto job = read_object("kubeflow.org/v1", "PyTorchJob",
                               R"("pytorchReplicaSpecs":{)" + replicas("Master", 1, 8) + "," +
                                   replicas("Worker", 3, 8) + "}");
  EXPECT_THAT(sizes(job), ::testing::ElementsAre("master 4", "worker 4"));
  EXPECT_EQ(job->together, Together::kAll);
  EXPECT_FALSE(job->replaced_alone);
  EXPECT_FALSE(job->ended);
  const auto tf = read_object("kubeflow.org/v1", "TFJob",
                              R"("tfReplicaSpecs":{)" + replicas("PS", 2, 0) + "," +
                                  replicas("Worker", 3, 8) + R"(},"runPolicy":{"suspend":true})",
                              R"({"conditions":[{"type":"Succeeded","status":"True"}]})");
  EXPECT_THAT(sizes(tf), ::testing::ElementsAre("ps 1", "worker 3"))
      << "its parameter servers have no GPUs";
  EXPECT_EQ(tf->suspended, true);
  EXPECT_TRUE(tf->ended);
  for (const auto& [kind, key] :
       {std::pair("XGBoostJob", "xgbReplicaSpecs"), std::pair("PaddleJob", "paddleReplicaSpecs"),
        std::pair("JAXJob", "jaxReplicaSpecs")}) {
    EXPECT_THAT(
        sizes(read_object("kubeflow.org/v1", kind,
                          "\"" + std::string(key) + "\":{" + replicas("Worker", 2, 1) + "}")),
        ::testing::ElementsAre("worker 2"));
  }
}

TEST(OwnerKinds, FewerPodsMayBeEnough) {
  const auto job = [](const std::string& more) {
    return read_object("kubeflow.org/v1", "PyTorchJob",
                       R"("pytorchReplicaSpecs":{)" + replicas("Master", 1, 0) + "," +
                           replicas("Worker", 4, 8) + "}" + more);
  };
  const auto least = [&](int n) {
    return job(R"(,"runPolicy":{"schedulingPolicy":{"minAvailable":)" + std::to_string(n) + "}}");
  };
  EXPECT_THAT(sizes(least(3)), ::testing::ElementsAre("master 1", "worker 2"));
  EXPECT_TRUE(least(3)->replaced_alone) << "the others come by themselves";
  EXPECT_THAT(sizes(least(5)), ::testing::ElementsAre("master 1", "worker 4"));
  EXPECT_FALSE(least(5)->replaced_alone);
  EXPECT_THAT(sizes(least(50)), ::testing::ElementsAre("master 1", "worker 4")) << "no more come";
  EXPECT_THAT(sizes(least(1)), ::testing::ElementsAre("master 1", "worker 1"));
  EXPECT_THAT(sizes(job(R"(,"elasticPolicy":{"minReplicas":2,"maxReplicas":9})")),
              ::testing::ElementsAre("master 1", "worker 2"));
  EXPECT_TRUE(job(R"(,"elasticPolicy":{})")->replaced_alone);
  EXPECT_THAT(sizes(job(R"(,"elasticPolicy":{"minReplicas":9})")),
              ::testing::ElementsAre("master 1", "worker 4"));
}

TEST(OwnerKinds, TheLauncherOfAnMpiJob) {
  const auto job = [](int gpus, const std::string& more = "") {
    return read_object("kubeflow.org/v2beta1", "MPIJob",
                       R"("mpiReplicaSpecs":{)" + replicas("Launcher", 1, gpus) + "," +
                           replicas("Worker", 2, 8) + "}" + more);
  };
  EXPECT_THAT(sizes(job(0)), ::testing::ElementsAre("launcher 1", "worker 2")) << "it is no member";
  EXPECT_THAT(sizes(job(8)), ::testing::ElementsAre("launcher 3", "worker 3"));
  EXPECT_FALSE(job(8)->roles.at(0).later);
  for (const char* late :
       {R"(,"launcherCreationPolicy":"WaitForWorkersReady")", R"(,"waitForWorkers":true)"}) {
    const auto after = job(8, late);
    EXPECT_THAT(sizes(after), ::testing::ElementsAre("launcher 3", "worker 3"));
    EXPECT_TRUE(after->roles.at(0).later && !after->roles.at(1).later) << late;
  }
  EXPECT_EQ(read_object("kubeflow.org/v1", "MPIJob", "")->kind, OwnerKind::kMpiJob);
}

TEST(OwnerKinds, OfARayClusterTheHeadAndTheLeastWorkers) {
  const auto cluster = [](const std::string& group, const std::string& more = "", int head = 1) {
    return read_object("ray.io/v1", "RayCluster",
                       R"("headGroupSpec":{)" + made(head) +
                           R"(},"workerGroupSpecs":[{"groupName":"w",)" + group + made(8) + "}]" +
                           more);
  };
  const std::string autoscales = R"(,"enableInTreeAutoscaling":true)";
  const std::string group = R"("replicas":4,"minReplicas":2,"maxReplicas":9,)";
  EXPECT_THAT(sizes(cluster(group)), ::testing::ElementsAre("headgroup 5", "w 5"));
  EXPECT_THAT(sizes(cluster(group, autoscales)), ::testing::ElementsAre("headgroup 3", "w 3"));
  EXPECT_THAT(sizes(cluster(group, autoscales, 0)), ::testing::ElementsAre("headgroup 1", "w 2"));
  EXPECT_THAT(sizes(cluster(R"("numOfHosts":2,)" + group, autoscales)),
              ::testing::ElementsAre("headgroup 5", "w 5"));
  EXPECT_THAT(sizes(cluster("", autoscales)), ::testing::ElementsAre("headgroup 1", "w 1"));
  EXPECT_THAT(sizes(cluster(R"("replicas":9,"maxReplicas":3,)")),
              ::testing::ElementsAre("headgroup 4", "w 4"));
  EXPECT_THAT(sizes(cluster(R"("suspend":true,)" + group)),
              ::testing::ElementsAre("headgroup 1", "w 1"));
  EXPECT_TRUE(cluster(group)->replaced_alone);
}

TEST(OwnerKinds, ARayJobHasTheTemplatesOfItsCluster) {
  const auto job = [](const std::string& status) {
    return read_object("ray.io/v1", "RayJob",
                       R"("suspend":true,"rayClusterSpec":{"headGroupSpec":{)" + made(1) +
                           R"(},"workerGroupSpecs":[{"groupName":"w","replicas":2,)" + made(8) +
                           "}]}",
                       R"({"jobDeploymentStatus":")" + status + "\"}");
  };
  EXPECT_THAT(sizes(job("Suspended")), ::testing::ElementsAre("headgroup 3", "w 3"));
  EXPECT_EQ(job("Suspended")->suspended, true);
  EXPECT_FALSE(job("Suspended")->ended);
  EXPECT_TRUE(job("Complete")->ended && job("Failed")->ended);
}

TEST(OwnerKinds, ATrainJobHasNoTemplates) {
  const auto job = read_object("trainer.kubeflow.org/v1alpha1", "TrainJob", R"("suspend":true)",
                               R"({"conditions":[{"type":"Complete","status":"True"}]})");
  EXPECT_TRUE(job->roles.empty() && job->ended);
  EXPECT_EQ(job->suspended, true);
}

TEST(OwnerKinds, AVolcanoJob) {
  const auto job = [](const std::string& more, const std::string& later = "") {
    return read_object("batch.volcano.sh/v1alpha1", "Job",
                       more + R"("tasks":[{"name":"ps","replicas":1,)" + made(0) +
                           R"(},{"replicas":3,)" + later + made(4) + "}]",
                       R"({"state":{"phase":"Running"}})");
  };
  EXPECT_THAT(sizes(job("")), ::testing::ElementsAre("ps 1", "default1 3"));
  EXPECT_THAT(sizes(job(R"("minAvailable":3,)")), ::testing::ElementsAre("ps 1", "default1 2"));
  EXPECT_TRUE(job("", R"("dependsOn":{"name":["ps"]},)")->roles.at(1).later);
  EXPECT_FALSE(job("")->ended);
}

TEST(OwnerKinds, GroupsThatPodsName) {
  const auto size = [](const std::string& version, const std::string& kind,
                       const std::string& spec) { return sizes(read_object(version, kind, spec)); };
  for (const std::string version : {"scheduling.x-k8s.io/v1alpha1", "scheduling.volcano.sh/v1beta1",
                                    "scheduling.run.ai/v2alpha2"}) {
    EXPECT_THAT(size(version, "PodGroup", R"("minMember":3)"), ::testing::ElementsAre(" 3"))
        << version;
    EXPECT_THAT(size(version, "PodGroup", ""), ::testing::ElementsAre(" 1")) << version;
    EXPECT_THAT(size(version, "PodGroup", R"("minMember":-7)"), ::testing::ElementsAre(" 1"))
        << version;
    EXPECT_FALSE(read_object(version, "PodGroup", R"("minMember":99999999)").ok()) << version;
  }
  EXPECT_THAT(
      size("scheduling.run.ai/v2alpha2", "PodGroup",
           R"("minMember":1,"subGroups":[{"name":"all"},{"name":"a","parent":"all","minMember":2},)"
           R"({"name":"b","parent":"all","minMember":5}])"),
      ::testing::ElementsAre(" 7"));
  EXPECT_THAT(
      size(
          "scheduling.run.ai/v2alpha2", "PodGroup",
          R"("minSubGroup":1,"subGroups":[{"name":"a","minMember":4},{"name":"b","minMember":5}])"),
      ::testing::ElementsAre(" 4"));
  for (const std::string version : {"scheduling.k8s.io/v1alpha2", "scheduling.k8s.io/v1beta1"}) {
    EXPECT_THAT(size(version, "PodGroup", R"("schedulingPolicy":{"gang":{"minCount":4}})"),
                ::testing::ElementsAre(" 4"));
    EXPECT_THAT(size(version, "PodGroup", R"("schedulingPolicy":{"basic":{}})"),
                ::testing::ElementsAre(" 1"));
    EXPECT_THAT(size(version, "PodGroup", ""), ::testing::ElementsAre(" 1"));
  }
  EXPECT_THAT(
      size(
          "scheduling.k8s.io/v1alpha1", "Workload",
          R"("podGroups":[{"name":"a","policy":{"gang":{"minCount":2}}},{"name":"b","policy":{"basic":{}}}])"),
      ::testing::ElementsAre("a 2", "b 1"));
  EXPECT_TRUE(
      read_object("scheduling.x-k8s.io/v1alpha1", "PodGroup", R"("minMember":3)")->replaced_alone);
}

TEST(OwnerKinds, WhatNoOperatorWouldWriteIsReadAllTheSame) {
  for (const OwnerKindRow& row : owner_kinds()) {
    const std::string version = std::string(row.group) + "/" + std::string(row.versions.front());
    for (const char* spec :
         {"", R"("tasks":3,"podGroups":{},"workerGroupSpecs":"x","template":[])",
          R"("xReplicaSpecs":{"Worker":[]},"runPolicy":7,"subGroups":[[],{}])"}) {
      const auto owner = read_object(version, std::string(row.name), spec, "[]");
      EXPECT_TRUE(owner.ok()) << row.name << " " << spec;
    }
  }
  std::string groups;
  for (std::size_t i = 0; i <= limits::kMaxTemplates; ++i) {
    groups += (i > 0 ? R"(,{"name":"g")" : R"({"name":"g")") + std::string("}");
  }
  EXPECT_FALSE(
      read_object("scheduling.k8s.io/v1alpha1", "Workload", R"("podGroups":[)" + groups + "]")
          .ok());
  EXPECT_FALSE(read_object("kubeflow.org/v1", "TFJob",
                           R"("tfReplicaSpecs":{)" + replicas("Worker", 2'000'000'000, 1) + "}")
                   .ok());
}

Pod read(simdjson::dom::parser& parser, const std::string& metadata, const std::string& spec = "") {
  return read_pod(parser.parse(test::pod(container("nvidia.com/gpu", "1"), metadata, spec)), {});
}

TEST(OwnerKinds, GroupsAreNamedByMarks) {
  simdjson::dom::parser parser;
  const auto named = [&](const std::string& metadata, const std::string& spec = "") {
    std::string out;
    for (const PodGroupRef& ref : pod_groups_of(read(parser, R"("name":"p",)" + metadata, spec))) {
      out += std::string(enum_name(ref.kind)) + " " + std::string(ref.name) + "/" +
             std::string(ref.part) + "/" + std::string(ref.copy) + ";";
    }
    return out;
  };
  EXPECT_EQ(named(R"("labels":{"scheduling.x-k8s.io/pod-group":"g"})"),
            "CoschedulingPodGroup g//;");
  EXPECT_EQ(named(R"("annotations":{"scheduling.k8s.io/group-name":"g"})"), "VolcanoPodGroup g//;");
  EXPECT_EQ(named(R"("annotations":{"pod-group-name":"g"})"), "KaiPodGroup g//;");
  EXPECT_EQ(named(R"("labels":{})", R"(,"schedulingGroup":{"podGroupName":"g"})"), "PodGroup g//;");
  EXPECT_EQ(named(R"("labels":{})",
                  R"(,"workloadRef":{"name":"w","podGroup":"g","podGroupReplicaKey":"3"})"),
            "Workload w/g/3;");
  EXPECT_EQ(named(R"("labels":{})", R"(,"schedulingGroup":{})"), "");
}

TEST(OwnerKinds, APodJoinsTheGangOfItsGroup) {
  simdjson::dom::parser parser;
  const std::string mark =
      R"("name":"p","labels":{"scheduling.x-k8s.io/pod-group":"g"%},"annotations":{%})";
  const auto meta = [&](const std::string& labels, const std::string& notes = "") {
    std::string out = mark;
    out.replace(out.find('%'), 1, labels);
    return out.replace(out.find('%'), 1, notes);
  };
  const auto join = [&](Pod pod, std::uint32_t size) {
    join_pod_group(pod, {OwnerKind::kCoschedulingGroup, "g", {}, {}}, "G", size);
    hold_unsized(pod);
    return pod.gang.id + " of " + pod.gang.owner + " " + std::to_string(pod.gang.size) +
           (pod.gang.unsized ? " unsized" : "") + (pod.gang.least ? " least" : "");
  };
  EXPECT_EQ(join(read(parser, meta("")), 3), "g of G 3 least");
  EXPECT_EQ(join(read(parser, meta("")), 1), " of  1") << "each by itself";
  EXPECT_EQ(join(read(parser, meta("", R"("subak.gpu/gang-size":"2")")), 3), "g of  2")
      << "what the pod itself says counts";
  EXPECT_EQ(join(read(parser, meta(R"(,"subak.gpu/job":"mine")")), 3), "mine of  1 unsized")
      << "a name of its own may join several groups";
  EXPECT_EQ(join(read(parser, meta(R"(,"subak.gpu/job":"g")")), 3), "g of G 3 least");
  EXPECT_EQ(join(read(parser, meta(R"(,"subak.gpu/job":"p")")), 3), "g of G 3 least")
      << "Subak wrote it before the mark came";
}

}  // namespace
}  // namespace subak

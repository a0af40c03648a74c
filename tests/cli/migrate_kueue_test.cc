// Account files made from objects of Kueue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/migrate/migrate.h"
#include "core/edge_limits.h"

namespace subak::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string migrated(const std::string& text, const MigrateOptions& options = {}) {
  const auto read = read_migration({{"k", text}}, options);
  EXPECT_TRUE(read.ok()) << read.error().message();
  return read.ok() ? migration_text(*read) : "";
}
std::string refused(const std::string& text) {
  const auto read = read_migration({{"k", text}}, {});
  EXPECT_FALSE(read.ok()) << migration_text(*read);
  return read.ok() ? "" : read.error().message();
}

// An object in one line.
std::string object(const std::string& kind, const std::string& name, const std::string& spec) {
  return "{apiVersion: kueue.x-k8s.io/v1beta2, kind: " + kind + ", metadata: {name: " + name +
         "}, spec: {" + spec + "}}\n---\n";
}
// A spec's resourceGroups with quotas of GPUs: each {flavor, the rest of the quota}.
std::string groups(const std::vector<std::pair<std::string, std::string>>& quotas) {
  std::string out = "resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [";
  for (const auto& [flavor, quota] : quotas) {
    out += "{name: " + flavor + ", resources: [{name: nvidia.com/gpu, " + quota + "}]},";
  }
  return out + "]}]";
}
std::string flavor(const std::string& name, const std::string& product) {
  return object("ResourceFlavor", name, "nodeLabels: {nvidia.com/gpu.product: " + product + "}");
}
std::string queue(const std::string& name, const std::string& ns) {
  return "{apiVersion: kueue.x-k8s.io/v1beta1, kind: LocalQueue, metadata: {name: lq, namespace: " +
         ns + "}, spec: {clusterQueue: " + name + "}}\n---\n";
}

TEST(MigrateKueue, QuotaBorrowLendAndShares) {
  const std::string text =
      migrated(flavor("h", "H100") + flavor("a", "A100") +
               object("Cohort", "co", "fairSharing: {weight: 3}") +
               object("ClusterQueue", "x",
                      "cohortName: co, fairSharing: {weight: \"1.5\"}, " +
                          groups({{"h", "nominalQuota: 8, borrowingLimit: 4, lendingLimit: 2"},
                                  {"a", "nominalQuota: 16, lendingLimit: 16"}})) +
               object("ClusterQueue", "y", "cohort: co, " + groups({{"h", "nominalQuota: 1"}})) +
               object("ClusterQueue", "z", "cohortName: co, fairSharing: {weight: 0}"));
  EXPECT_THAT(text, HasSubstr("- {path: co, shares: 1, borrow: none}"));
  EXPECT_THAT(text, HasSubstr("- {path: co.x, shares: 3, quota: \"H100=8,A100=16\", borrow: "
                              "H100=4, lend: H100=2}"));
  EXPECT_THAT(text, HasSubstr("- {path: co.y, shares: 2, quota: H100=1, limit: A100=0}"));
  EXPECT_THAT(text, HasSubstr("- {path: co.z, shares: 0, limit: gpu=0}"));
}

TEST(MigrateKueue, AQueueWithoutCohortBorrowsNothing) {
  const std::string text = migrated(
      object("ClusterQueue", "q", groups({{"missing", "nominalQuota: 8"}})) + queue("q", "team-a"));
  EXPECT_THAT(text, HasSubstr("- {path: q, shares: 1, quota: gpu=8, borrow: none, namespaces: "
                              "[team-a]}  # k:1: ClusterQueue q, which borrows from no other\n"));
  EXPECT_THAT(text, HasSubstr("#   k:1  ResourceFlavor 'missing'\n"));
}

TEST(MigrateKueue, TheQuotaOfACohortIsOnTopOfItsQueues) {
  const std::string text = migrated(
      object("Cohort", "top", groups({{"f", "nominalQuota: 10"}})) +
      object("Cohort", "mid", "parentName: top") +
      object("ClusterQueue", "q", "cohortName: mid, " + groups({{"f", "nominalQuota: 8"}})));
  EXPECT_THAT(text, HasSubstr("- {path: top, shares: 1, quota: gpu=18, borrow: none}"));
  EXPECT_THAT(text, HasSubstr("- {path: top.mid, shares: 1}"));
  EXPECT_THAT(text, HasSubstr("- {path: top.mid.q, shares: 1, quota: gpu=8}"));
}

TEST(MigrateKueue, FlavorsBecomeProductsByTheirNodeLabels) {
  const std::string quota = groups({{"f", "nominalQuota: 8"}});
  const auto product = [&](const std::string& labels) {
    return migrated(object("ResourceFlavor", "f", "nodeLabels: {" + labels + "}") +
                    object("ClusterQueue", "q", quota));
  };
  EXPECT_THAT(product("nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB-MIG-1g.10gb"),
              HasSubstr("quota: NVIDIA-A100-SXM4-80GB=8"));
  EXPECT_THAT(product("cloud.google.com/gke-accelerator: nvidia-l4"), HasSubstr("NVIDIA-L4=8"));
  EXPECT_THAT(product("pool: spot"), HasSubstr("quota: gpu=8"));
  EXPECT_THAT(product("pool: spot"), HasSubstr("#   k:1  ResourceFlavor 'f': nodeLabels=pool\n"));
}

TEST(MigrateKueue, OtherResourcesHaveNoEquivalent) {
  const std::string text = object(
      "ClusterQueue", "q",
      "resourceGroups: [{coveredResources: [cpu, nvidia.com/mig-1g.10gb, example.com/gpu], "
      "flavors: [{name: f, resources: [{name: cpu, nominalQuota: 9}, {name: "
      "nvidia.com/mig-1g.10gb, nominalQuota: 7}, {name: example.com/gpu, nominalQuota: 4}]}]}]");
  EXPECT_THAT(migrated(text), HasSubstr("nominalQuota of cpu=9 of flavor f"));
  EXPECT_THAT(migrated(text), HasSubstr("nominalQuota of nvidia.com/mig-1g.10gb=7 of flavor f"));
  EXPECT_THAT(migrated(text), HasSubstr("limit: gpu=0"));
  EXPECT_THAT(migrated(text, {"", {"example.com/gpu"}}), HasSubstr("quota: gpu=4"));
}

TEST(MigrateKueue, ANamespaceBelongsToOneAccount) {
  const std::string queues = object("ClusterQueue", "b", "") + object("ClusterQueue", "a", "");
  const std::string text = migrated(queues + queue("b", "ns") +
                                    "{apiVersion: kueue.x-k8s.io/v1beta1, kind: LocalQueue, "
                                    "metadata: {name: a, namespace: ns}, spec: {clusterQueue: a}}"
                                    "\n---\n" +
                                    queue("missing", "other") + queue("a", "none"));
  EXPECT_THAT(text,
              HasSubstr("{path: b, shares: 1, limit: gpu=0, borrow: none, namespaces: [ns]}"));
  EXPECT_THAT(text, HasSubstr("#   k:7  LocalQueue 'a' of namespace ns: clusterQueue=a\n"));
  EXPECT_THAT(text, HasSubstr("LocalQueue 'lq' of namespace other: clusterQueue=missing\n"));
  EXPECT_THAT(text, HasSubstr("LocalQueue 'lq' of namespace none: clusterQueue=a\n"));
  EXPECT_THAT(migrated(queues + queue("a", "none"), {"main", {}}),
              HasSubstr("namespaces: [main/none]"));
}

TEST(MigrateKueue, PreemptionBecomesThePolicyOfAllQueues) {
  const std::string classes =
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: prod}, "
      "value: 1000}\n---\n";
  const auto q = [](const std::string& name, const std::string& preemption) {
    return object("ClusterQueue", name, "cohortName: c, preemption: {" + preemption + "}");
  };
  const std::string any = "reclaimWithinCohort: Any, withinClusterQueue: LowerPriority";
  EXPECT_THAT(migrated(classes + q("a", any) + q("b", any)),
              HasSubstr("- {name: prod, value: 1000, preempts: true}\n"));
  const std::string none = migrated(classes + q("a", "") + q("b", ""));
  EXPECT_THAT(none, HasSubstr("#   reclaim: off"));
  EXPECT_THAT(none, HasSubstr("- {name: prod, value: 1000}\n"));
  const std::string mixed = migrated(classes + q("a", any) + q("b", ""));
  EXPECT_THAT(mixed, Not(HasSubstr("reclaim: off")));
  EXPECT_THAT(mixed, Not(HasSubstr("preempts: true}")));
  EXPECT_THAT(mixed, HasSubstr("ClusterQueue 'b': preemption.reclaimWithinCohort=Never\n"));
  EXPECT_THAT(mixed, HasSubstr("ClusterQueue 'a': preemption.withinClusterQueue=LowerPriority\n"));
  EXPECT_THAT(migrated(q("a", "borrowWithinCohort: {policy: LowerPriority}")),
              HasSubstr("#   k:1  ClusterQueue 'a': "
                        "preemption.borrowWithinCohort.policy=LowerPriority\n"));
}

TEST(MigrateKueue, DefaultsAreNoNews) {
  const std::string text =
      migrated(object("ClusterQueue", "q",
                      "namespaceSelector: {}, queueingStrategy: BestEffortFIFO, stopPolicy: None, "
                      "flavorFungibility: {whenCanBorrow: Borrow, whenCanPreempt: TryNextFlavor}, "
                      "preemption: {borrowWithinCohort: {policy: Never}}, admissionChecks: []"));
  EXPECT_THAT(text, HasSubstr("# Everything in these files has an equivalent in Subak.\n"));
}

TEST(MigrateKueue, AListOfKubectlIsRead) {
  EXPECT_THAT(migrated("{apiVersion: v1, kind: List, items: [{apiVersion: kueue.x-k8s.io/v1beta1, "
                       "kind: ClusterQueue, metadata: {name: q}, spec: {stopPolicy: Hold}, status: "
                       "{x: 1}}]}"),
              HasSubstr("- {path: q, shares: 1, limit: gpu=0, borrow: none, held: true}"));
}

TEST(MigrateKueue, MistakesNameLineFieldValueAndRemedy) {
  EXPECT_EQ(refused(object("Cohort", "a", "parentName: b") + object("Cohort", "b", "parent: a")),
            "k:1: parentName: was \"a -> b -> a\", want a tree of Cohorts: this is a loop");
  EXPECT_EQ(refused(object("Cohort", "a", "parentName: a")),
            "k:1: parentName: was \"a -> a\", want a tree of Cohorts: this is a loop");
  EXPECT_EQ(refused(object("ClusterQueue", "q", "preemption: {withinCohort: Any}")),
            "k:1: preemption.withinCohort: was \"Any\", want a field that a ClusterQueue of "
            "v1beta1 or v1beta2 has");
  EXPECT_EQ(refused(object("ClusterQueue", "q", groups({{"f", "nominalQuota: -1"}}))),
            "k:1: nominalQuota: was \"-1\", want a number from 0 to 1000000");
  EXPECT_EQ(refused(object("ClusterQueue", "q", groups({{"f", "nominalQuota: 0.5"}}))),
            "k:1: nominalQuota: was \"0.5\", want whole GPUs");
  EXPECT_EQ(refused(object("ClusterQueue", "q", groups({{"f", "nominalQuota: 1, limit: 2"}}))),
            "k:1: resources.limit: was \"2\", want name, nominalQuota, borrowingLimit, "
            "lendingLimit");
  EXPECT_EQ(refused(object("ClusterQueue", "q", "") + object("ClusterQueue", "q", "")),
            "k:3: metadata.name: was \"q\", want each ClusterQueue once in all files");
  EXPECT_EQ(refused("{apiVersion: kueue.x-k8s.io/v1alpha1, kind: Cohort, metadata: {name: c}}"),
            "k:1: apiVersion: was \"kueue.x-k8s.io/v1alpha1\", want kueue.x-k8s.io/v1beta1 or "
            "kueue.x-k8s.io/v1beta2");
  EXPECT_THAT(refused("kind: ClusterQueue\nspec: ["), HasSubstr("k:2: not YAML"));
  EXPECT_THAT(refused("[1]"), HasSubstr("k:1: was \"1\", want a Kubernetes object"));
  EXPECT_EQ(refused("# nothing\n"),
            "k:1: want a dump of `sacctmgr dump`, or YAML of Kueue: it is empty");
}

TEST(MigrateKueue, LimitsOfLinesAndQuotas) {
  std::string lines = object("Cohort", "a", "");
  for (std::size_t i = 2; i < limits::kMaxMigratedLines; ++i) lines += "#\n";
  EXPECT_TRUE(read_migration({{"k", lines}}, {}).ok());
  EXPECT_EQ(refused(lines + "#\n"), "k:500001: want at most 500000 lines");

  // An alias repeats a list, so few lines have many quotas.
  std::string text =
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {name: c}, spec: "
      "{resourceGroups: [{flavors: [{name: f, resources: &r [";
  for (int i = 0; i < 1000; ++i) text += "{name: cpu, nominalQuota: 1},";
  text += "]},";
  for (int i = 1; i < 500; ++i) text += "{name: f, resources: *r},";
  EXPECT_TRUE(read_migration({{"k", text + "]}]}}"}}, {}).ok());
  EXPECT_EQ(refused(text + "{name: f, resources: *r}]}]}}"),
            "k:1: resources: want at most 500000 quotas");
}

}  // namespace
}  // namespace subak::cli

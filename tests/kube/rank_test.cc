// Ranks of pods, from their labels to the nodes that the engine gives them, however they arrive.
#include "kube/rank.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "pods.h"

namespace subak {
namespace {

constexpr std::size_t kPods = 8;
using Order = std::array<std::size_t, kPods>;
constexpr Order kShuffled{5, 2, 7, 0, 3, 6, 1, 4};

struct Kind {
  const char* name;
  // Labels and annotations of member `i`, the controller's kind and uid.
  std::function<std::string(std::size_t i)> labels, annotations;
  const char* owner = "";
};

std::string pair(const std::string& key, const std::string& value) {
  return "\"" + key + "\":\"" + value + "\"";
}
std::string number(std::size_t n) { return std::to_string(n); }
std::string none(std::size_t) { return ""; }

constexpr char kSize[] = R"("subak.gpu/gang-size":"8")";
constexpr char kIndex[] = "batch.kubernetes.io/job-completion-index";

std::string kubeflow(const std::string& type, std::size_t index) {
  return std::string(kSize) + "," + pair("training.kubeflow.org/job-name", "t") + "," +
         pair("training.kubeflow.org/replica-type", type) + "," +
         pair("training.kubeflow.org/replica-index", number(index));
}
// Jobs of `pods` pods each.
std::string job_set(std::size_t i, std::size_t pods) {
  return std::string(kSize) + "," + pair("jobset.sigs.k8s.io/jobset-name", "s") + "," +
         pair("jobset.sigs.k8s.io/replicatedjob-name", "w") + "," +
         pair("jobset.sigs.k8s.io/job-index", number(i / pods)) + "," +
         pair("jobset.sigs.k8s.io/job-global-index", number(i / pods));
}

std::vector<Kind> kubernetes_kinds() {
  const auto sized = [](auto&& more) {
    return [more](std::size_t i) { return kSize + ("," + more(i)); };
  };
  const auto index = [](std::size_t pods) {
    return [pods](std::size_t i) { return pair(kIndex, number(i % pods)); };
  };
  return {
      {"Indexed Job", sized([](std::size_t) { return pair("batch.kubernetes.io/job-name", "j"); }),
       index(8), "Job"},
      {"StatefulSet",
       sized([](std::size_t i) { return pair("apps.kubernetes.io/pod-index", number(i)); }), none,
       "StatefulSet"},
      {"LeaderWorkerSet",
       [](std::size_t i) {
         return pair("leaderworkerset.sigs.k8s.io/name", "l") + "," +
                pair("leaderworkerset.sigs.k8s.io/worker-index", number(i));
       },
       [](std::size_t) { return pair("leaderworkerset.sigs.k8s.io/size", "8"); }, "StatefulSet"},
      {"JobSet of 1 x 8", [](std::size_t i) { return job_set(i, 8); }, index(8), "Job"},
      {"JobSet of 8 x 1", [](std::size_t i) { return job_set(i, 1); }, index(1), "Job"},
      {"JobSet of 2 x 4", [](std::size_t i) { return job_set(i, 4); }, index(4), "Job"}};
}

std::vector<Kind> kubeflow_kinds() {
  return {
      {"PyTorchJob of workers", [](std::size_t i) { return kubeflow("worker", i); }, none,
       "PyTorchJob"},
      {"PyTorchJob",
       [](std::size_t i) { return i == 0 ? kubeflow("master", 0) : kubeflow("worker", i - 1); },
       none, "PyTorchJob"},
      {"TFJob",
       [](std::size_t i) {
         return i == 0   ? kubeflow("chief", 0)
                : i == 7 ? kubeflow("evaluator", 0)
                : i < 3  ? kubeflow("ps", i - 1)
                         : kubeflow("worker", i - 3);
       },
       none, "TFJob"},
      {"MPIJob",
       [](std::size_t i) {
         return std::string(kSize) + "," + pair("training.kubeflow.org/job-name", "m") + "," +
                pair("training.kubeflow.org/job-role", i == 0 ? "launcher" : "worker") +
                (i == 0 ? "" : "," + pair("training.kubeflow.org/replica-index", number(i - 1)));
       },
       none, "MPIJob"}};
}

std::vector<Kind> group_kinds() {
  const auto sized = [](auto&& more) {
    return [more](std::size_t i) { return kSize + ("," + more(i)); };
  };
  const auto index = [](std::size_t pods) {
    return [pods](std::size_t i) { return pair(kIndex, number(i % pods)); };
  };
  return {
      {"Kueue group",
       [](std::size_t i) {
         return pair("kueue.x-k8s.io/pod-group-name", "g") + "," +
                pair("kueue.x-k8s.io/pod-group-pod-index", number(i));
       },
       [](std::size_t) { return pair("kueue.x-k8s.io/pod-group-total-count", "8"); }},
      {"Kueue group with a label of its own",
       [](std::size_t i) {
         return pair("kueue.x-k8s.io/pod-group-name", "g") + "," + pair("mine", number(i));
       },
       [](std::size_t) {
         return pair("kueue.x-k8s.io/pod-group-total-count", "8") + "," +
                pair("kueue.x-k8s.io/pod-group-pod-index-label", "mine");
       }},
      {"Indexed Job of another name", sized([](std::size_t) {
         return pair("batch.kubernetes.io/job-name", "j") + "," + pair("subak.gpu/job", "mine");
       }),
       index(8), "Job"},
      {"two Indexed Jobs as one gang", sized([](std::size_t i) {
         return pair("batch.kubernetes.io/job-name", i < 4 ? "a" : "b") + "," +
                pair("subak.gpu/job", "mine");
       }),
       index(4), "Job"},
      {"RayCluster",
       [](std::size_t i) {
         return std::string(kSize) + "," + pair("ray.io/cluster", "r") + "," +
                pair("ray.io/node-type", i == 0 ? "head" : "worker") +
                (i == 0 ? ""
                        : "," + pair("ray.io/worker-group-replica-index", number((i - 1) / 2)) +
                              "," + pair("ray.io/replica-host-index", number((i - 1) % 2)));
       },
       none, "RayCluster"},
      {"pods by hand", sized([](std::size_t i) {
         return pair("subak.gpu/job", "mine") + "," + pair("subak.gpu/rank", number(i));
       }),
       none},
  };
}

std::vector<Kind> kinds() {
  std::vector<Kind> all = kubernetes_kinds();
  for (const auto& more : {kubeflow_kinds(), group_kinds()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

PodRecord member(const Kind& kind, std::size_t i, const std::string& keys) {
  std::string metadata = R"("namespace":"team","name":"p)" + number(i) + R"(","uid":"u)" +
                         number(i) + R"(","labels":{)" + kind.labels(i) + keys +
                         R"(},"annotations":{)" + kind.annotations(i) + "}";
  if (*kind.owner != '\0') {
    metadata += R"(,"ownerReferences":[{"controller":true,"apiVersion":"v1","kind":")" +
                std::string(kind.owner) + R"(","name":"o","uid":"owner"}])";
  }
  const auto record =
      pod_record_from_json(test::pod(test::container("nvidia.com/gpu", "4"), metadata,
                                     R"(,"schedulingGates":[{"name":"subak.gpu/queue"}])"));
  EXPECT_TRUE(record.ok()) << kind.name;
  return record.ok() ? *record : PodRecord();
}

// Two racks of four nodes, a1 to b4, and a team.
class Racks {
 public:
  Racks() {
    in::SetCluster cluster;
    cluster.name = "k8s";
    cluster.mode = Mode::kEnforce;
    say(std::move(cluster));
    in::SetAccount account;
    account.spec.path = "team";
    account.spec.shares = 1;
    account.spec.namespaces = {"team"};
    say(std::move(account));
    say(in::ListBegin{"k8s"});
    for (const char* rack : {"a", "b"}) {
      for (const char* n : {"1", "2", "3", "4"}) {
        in::NodeSeen seen;
        seen.cluster = "k8s";
        seen.node.name = std::string(rack) + n;
        seen.node.product = "NVIDIA-GB200";
        seen.node.gpus = 4;
        seen.node.clique = rack;
        say(std::move(seen));
      }
    }
    say(in::ListComplete{"k8s"});
  }

  void see(const PodRecord& pod) { say(in::PodSeen{"k8s", pod}); }
  // The nodes of p0 to p7; empty if they do not start.
  std::vector<std::string> start() {
    std::vector<std::string> nodes(kPods);
    const ApplyOutcome outcome = say(in::Pass{});
    if (outcome.effects.empty()) return {};
    for (const EffectPod& pod : outcome.effects.front().pods) {
      nodes.at(static_cast<std::size_t>(pod.uid.at(1) - '0')) = pod.node;
    }
    return nodes;
  }
  std::string why() const {
    std::string text;
    for (const Reason& r : engine_.reasons(JobId(ClusterId(1), 1), 0)) {
      text += std::string(enum_name(r.token)) + " " + r.detail;
    }
    return text;
  }

 private:
  ApplyOutcome say(in::Body body) {
    Input input;
    input.time_ms = ++now_;
    input.actor = "test";
    input.body = std::move(body);
    ApplyOutcome outcome = engine_.apply(input);
    EXPECT_FALSE(outcome.reply.error) << outcome.reply.error->message();
    engine_.check_invariants();
    return outcome;
  }

  Engine engine_;
  TimeMs now_ = 1000;
};

// Neighbours that are not in the same rack.
std::size_t crossings(const std::vector<std::string>& nodes) {
  std::size_t sum = 0;
  for (std::size_t i = 1; i < nodes.size(); ++i) sum += nodes[i][0] != nodes[i - 1][0];
  return sum;
}

std::vector<std::string> placed(const Kind& kind, const Order& arrival, const std::string& keys) {
  Racks racks;
  for (const std::size_t i : arrival) racks.see(member(kind, i, keys));
  return racks.start();
}

std::vector<Order> arrivals() {
  std::vector<Order> all{kShuffled};
  std::mt19937 random(1);
  for (int k = 0; k < 20; ++k) {
    all.push_back(all.back());
    for (std::size_t i = kPods - 1; i > 0; --i)
      std::swap(all.back()[i], all.back()[random() % (i + 1)]);
  }
  return all;
}

TEST(Rank, NeighboursAreTogetherHoweverPodsArrive) {
  for (const Kind& kind : kinds()) {
    for (const Order& arrival : arrivals()) {
      const auto nodes = placed(kind, arrival, R"(,"subak.gpu/topology":"prefer:nvlink")");
      ASSERT_EQ(nodes.size(), kPods) << kind.name;
      EXPECT_EQ(crossings(nodes), 1U) << kind.name;
    }
  }
}

TEST(Rank, HardSegmentsHoldHoweverPodsArrive) {
  for (const Kind& kind : kinds()) {
    for (const Order& arrival : arrivals()) {
      const auto nodes =
          placed(kind, arrival, R"(,"subak.gpu/topology":"nvlink","subak.gpu/segment":"4")");
      ASSERT_EQ(nodes.size(), kPods) << kind.name;
      for (std::size_t i = 0; i < kPods; ++i) {
        EXPECT_EQ(nodes[i][0], nodes[i / 4 * 4][0]) << kind.name << " " << i;
      }
    }
  }
}

constexpr char kHard[] = R"(,"subak.gpu/topology":"nvlink","subak.gpu/segment":"4")";
const Kind kByHand{"pods without ranks",
                   [](std::size_t) { return kSize + ("," + pair("subak.gpu/job", "mine")); }, none};

TEST(Rank, AHardSegmentOfUnknownRanksWaitsAndSaysWhatToAdd) {
  Racks racks;
  for (const std::size_t i : kShuffled) racks.see(member(kByHand, i, kHard));
  EXPECT_TRUE(racks.start().empty());
  EXPECT_NE(racks.why().find("Misconfigured pod team/p5 has no rank"), std::string::npos)
      << racks.why();
  EXPECT_NE(racks.why().find("want label subak.gpu/rank"), std::string::npos);
  // All but one have said it by now, then two the same, then each its own.
  for (const std::size_t i : kShuffled) {
    if (i == 4) continue;
    racks.see(member(kByHand, i, kHard + ("," + pair("subak.gpu/rank", number(i)))));
  }
  EXPECT_TRUE(racks.start().empty());
  racks.see(member(kByHand, 4, kHard + ("," + pair("subak.gpu/rank", "7"))));
  EXPECT_TRUE(racks.start().empty());
  EXPECT_NE(racks.why().find("have the same rank"), std::string::npos) << racks.why();
  racks.see(member(kByHand, 4, kHard + ("," + pair("subak.gpu/rank", "4"))));
  const auto nodes = racks.start();
  ASSERT_EQ(nodes.size(), kPods) << racks.why();
  EXPECT_EQ(crossings(nodes), 1U);
}

TEST(Rank, WithoutSegmentsOrAsAWishRanksMayBeUnknown) {
  for (const char* keys : {R"(,"subak.gpu/topology":"prefer:nvlink")",
                           R"(,"subak.gpu/topology":"prefer:nvlink","subak.gpu/segment":"4")"}) {
    EXPECT_EQ(placed(kByHand, kShuffled, keys).size(), kPods) << keys;
  }
}

TEST(Rank, OfAKnownJobSetHasNoGaps) {
  OwnerRecord set;
  set.kind = OwnerKind::kJobSet;
  set.together = Together::kAll;
  const auto role = [&](const char* name, std::uint32_t copies, std::uint32_t pods, GpuKind kind) {
    set.roles.emplace_back();
    set.roles.back().name = name;
    set.roles.back().copies = copies;
    set.roles.back().pods = pods;
    set.roles.back().shape.kind = kind;
  };
  role("launcher", 1, 1, GpuKind::kNone);
  role("trainer", 2, 3, GpuKind::kWhole);
  role("eval", 2, 1, GpuKind::kWhole);
  const std::vector<RoleRanks> ranks = role_ranks(set);
  const auto rank = [&](const char* name, std::size_t job, const std::string& index) {
    simdjson::dom::parser parser;
    const simdjson::padded_string text(
        test::pod(test::container("nvidia.com/gpu", "1"),
                  R"("name":"p","labels":{)" + pair("jobset.sigs.k8s.io/jobset-name", "s") + "," +
                      pair("jobset.sigs.k8s.io/replicatedjob-name", name) + "," +
                      pair("jobset.sigs.k8s.io/job-index", number(job)) + "," +
                      pair("jobset.sigs.k8s.io/job-global-index", number(job + 40)) +
                      R"(},"annotations":{)" + (index.empty() ? "" : pair(kIndex, index)) + "}"));
    return rank_in(ranks, read_pod(parser.parse(text), {}));
  };
  EXPECT_EQ(rank("trainer", 0, "0"), 0);
  EXPECT_EQ(rank("trainer", 1, "2"), 5);
  EXPECT_EQ(rank("eval", 1, ""), 7) << "a job of one pod needs no index";
  EXPECT_EQ(rank("of-tomorrow", 0, "0"), 400'000) << "by its own labels";
  EXPECT_EQ(rank("trainer", 0, "3"), 400'003) << "the JobSet was made larger";
  set.together = Together::kEachJob;
  EXPECT_TRUE(role_ranks(set).empty());
}

TEST(Rank, OfLabels) {
  const auto rank = [](const std::string& labels, const std::string& annotations = "") {
    simdjson::dom::parser parser;
    const simdjson::padded_string text(test::pod(
        test::container("nvidia.com/gpu", "1"),
        R"("name":"p","labels":{)" + labels + R"(},"annotations":{)" + annotations + "}"));
    return rank_of(read_pod(parser.parse(text), {}));
  };
  EXPECT_EQ(rank(""), -1);
  EXPECT_EQ(rank(pair("apps.kubernetes.io/pod-index", "3")), 3);
  EXPECT_EQ(rank(pair("apps.kubernetes.io/pod-index", "three")), -1);
  EXPECT_EQ(rank(pair("apps.kubernetes.io/pod-index", "-3")), -1);
  EXPECT_EQ(rank(pair("apps.kubernetes.io/pod-index", "3") + "," + pair("subak.gpu/rank", "0")), 0);
  EXPECT_EQ(rank("", pair(kIndex, "5")), 5);
  EXPECT_EQ(rank(pair("kueue.x-k8s.io/pod-group-name", "g"), pair(kIndex, "5")), 5);
  EXPECT_EQ(rank(pair("training.kubeflow.org/job-name", "t") + "," +
                 pair("training.kubeflow.org/replica-type", "worker")),
            -1)
      << "which of them is it?";
  EXPECT_EQ(rank(pair("training.kubeflow.org/job-name", "t") + "," +
                 pair("training.kubeflow.org/replica-type", "of-tomorrow") + "," +
                 pair("training.kubeflow.org/replica-index", "1")),
            -1);
  EXPECT_EQ(rank(pair("jobset.sigs.k8s.io/jobset-name", "s") + "," +
                     pair("jobset.sigs.k8s.io/job-global-index", "999999"),
                 pair(kIndex, "0")),
            -1)
      << "more than a gang can have";
}

}  // namespace
}  // namespace subak

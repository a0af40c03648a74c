// A replica that judges by a copy answers every review as its leader does, byte for byte; and a copy
// that is not in order is refused whole, by its field.
#include "server/api/convert/admission_snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "core/account_limits.h"
#include "core/limits.h"
#include "engine/engine.h"
#include "tests/admission/hostile.h"

namespace subak {
namespace {

using test::container;
using test::pod;
using test::review_text;
using ::testing::HasSubstr;

constexpr std::array kProducts{"NVIDIA-H100-80GB-HBM3", "NVIDIA-A100-SXM4-40GB", "NVIDIA-L4"};

// Through the wire, as a replica gets it.
Result<std::optional<AdmissionBasis>> sent(const std::vector<v1::StaticResponse>& parts) {
  api::AdmissionSnapshotAssembler assembler;
  Result<std::optional<AdmissionBasis>> out = std::optional<AdmissionBasis>();
  for (const v1::StaticResponse& part : parts) {
    v1::StaticResponse received;
    EXPECT_TRUE(received.ParseFromString(part.SerializeAsString()));
    out = assembler.take(received);
    if (!out) return out;
  }
  return out;
}

AdmissionBasis copy_of(const View& view, const AdmissionConfig& config) {
  const auto copy = sent(api::admission_snapshot_parts(view, config));
  EXPECT_TRUE(copy.ok()) << copy.error().message();
  EXPECT_TRUE(copy->has_value());
  return **copy;
}

// The answer with its verdict and reason, as metrics count them.
std::string answer(const View& view, const AdmissionConfig& config, const std::string& text,
                   Endpoint endpoint, std::string_view cluster) {
  const test::Parsed parsed(text);
  if (!parsed.result->ok()) return "malformed";
  Decision d = decide(view, config, cluster, endpoint, parsed.review());
  const std::string counted = std::string(enum_name(d.verdict)) + " " +
                              std::string(enum_name(d.because)) + " " +
                              std::string(enum_name(d.bypass)) + " ";
  return counted + write_answer(parsed.review().uid, std::move(d).answer());
}

class Compared {
 public:
  Compared(const View& view, AdmissionConfig config, const AdmissionBasis& copy)
      : view_(view), config_(std::move(config)), copy_(copy) {}
  void expect_same(const std::string& review, std::string_view cluster = "c1") {
    for (const Endpoint endpoint : {Endpoint::kMutate, Endpoint::kValidate}) {
      const std::string leaders = answer(view_, config_, review, endpoint, cluster);
      const std::string copies = answer(*copy_.view, *copy_.config, review, endpoint, cluster);
      // A copy does not say which accounts have many gated pods, so a replica parks no owners.
      if (leaders.starts_with("patched suspended")) {
        ASSERT_TRUE(copies.starts_with("allowed unchanged")) << copies;
      } else {
        ASSERT_EQ(leaders, copies) << review;
      }
      ++seen_[leaders.substr(0, leaders.find('{'))];
    }
  }
  // Answers by verdict and reason.
  const std::map<std::string, int>& seen() const { return seen_; }

 private:
  const View& view_;
  AdmissionConfig config_;
  AdmissionBasis copy_;
  std::map<std::string, int> seen_;
};

TEST(AdmissionSnapshot, AnswersTheReviewsOfAllTablesAlike) {
  const auto view = test::fixed_view();
  Compared compared(*view, {}, copy_of(*view, {}));
  for (const char* folder : {"tests/admission/data", "tests/fuzz/corpus/review"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      std::ifstream in(entry.path(), std::ios::binary);
      std::ostringstream text;
      text << in.rdbuf();
      compared.expect_same(text.str());
    }
  }
  for (const test::Hostile& hostile : test::hostile_reviews()) {
    compared.expect_same(test::hostile_text(hostile, 32 << 10));
  }
  EXPECT_GE(compared.seen().size(), 12u);
}

TEST(AdmissionSnapshot, TheLeadersConfigurationCounts) {
  AdmissionConfig config;
  config.extra_gpu_resources = {"example.com/gpu"};
  config.break_glass_group = "sre";
  config.device_claims = DeviceClaims::kDeny;
  config.compute_domains_for_nvlink = true;
  config.pod_priority_class = "subak-gpu";
  config.protect_gangs = true;
  config.queue_accounts = {{"team-a", "main", "ml.vision"}, {"", "other", "ml"}};
  config.unknown_cluster = UnknownCluster::kDeny;
  config.alignment = Alignment::kDeny;
  config.alignment_namespaces = {{"team-*", Alignment::kOff}};
  config.routes = {{"nb-*", "", "NVIDIA-A10-SHARED"}, {"", "quick", "NVIDIA-A30-MIG-1g.6gb"}};
  auto view = std::make_shared<View>(*test::fixed_view());
  view->policy.system_namespaces = {"infra-*"};
  auto clusters = std::make_shared<std::vector<ClusterView>>(*view->clusters);
  clusters->front().known_as = "edge-user";
  view->clusters = clusters;
  const AdmissionBasis copy = copy_of(*view, config);
  EXPECT_EQ(copy.config->extra_gpu_resources, config.extra_gpu_resources);
  EXPECT_EQ(copy.config->break_glass_group, "sre");
  EXPECT_EQ(copy.config->device_claims, DeviceClaims::kDeny);
  EXPECT_TRUE(copy.config->compute_domains_for_nvlink);
  EXPECT_EQ(copy.config->pod_priority_class, "subak-gpu");
  EXPECT_TRUE(copy.config->protect_gangs);
  EXPECT_EQ(copy.config->queue_accounts, config.queue_accounts);
  EXPECT_EQ(copy.config->unknown_cluster, UnknownCluster::kDeny);
  EXPECT_EQ(copy.config->alignment, Alignment::kDeny);
  EXPECT_EQ(copy.config->alignment_namespaces, config.alignment_namespaces);
  EXPECT_EQ(copy.config->routes, config.routes);
  EXPECT_EQ(copy.view->policy.system_namespaces, view->policy.system_namespaces);
  Compared compared(*view, config, copy);
  compared.expect_same(review_text(pod(container("example.com/gpu", "1"))));
  compared.expect_same(review_text(pod(container("nvidia.com/gpu", "1"))), "c9");
  compared.expect_same(review_text(pod(container("nvidia.com/gpu", "1")), "infra-a"));
  EXPECT_EQ(compared.seen().count("denied unknown_cluster none "), 1u);
  const std::string open = pod(container("nvidia.com/gpu", "1"));
  const std::string gated = pod(container("nvidia.com/gpu", "1"), R"("name":"p")",
                                R"(,"schedulingGates":[{"name":"subak.gpu/queue"}])");
  EXPECT_EQ(compared.seen().count("denied bypass gate_removed "), 0u);
  compared.expect_same(review_text(open, "team-a", "edge-user", "UPDATE", gated));
  EXPECT_EQ(compared.seen().count("denied bypass gate_removed "), 0u) << "who may do so is told";
  compared.expect_same(review_text(open, "team-a", "ana", "UPDATE", gated));
  EXPECT_EQ(compared.seen().count("denied bypass gate_removed "), 1u);
}

// --- random states -------------------------------------------------------------------------------

class RandomState {
 public:
  explicit RandomState(std::uint64_t seed) : bits_(seed) {
    apply(in::SetCluster{"c1", Mode::kEnforce, {}, "test", false});
    apply(in::SetCluster{"c2", Mode::kWarn, {}, "test", false});
    apply(in::ListBegin{"c1"});
    apply(in::ListComplete{"c1"});
  }

  void edit() {
    switch (below(10)) {
      case 0:
        return apply(cluster());
      case 1:
        return apply(in::NodeSeen{"c1", node()});
      case 2:
        return apply(in::NamespaceSeen{"c1", ns(), below(4) == 0 ? "" : path()});
      case 3:
        return apply(in::DrainNode{"c1", "n" + number(4), below(2) == 0, "test"});
      case 4:
        return apply(policy());
      case 5:
        return apply(in::DeleteAccount{path(), 0, "test", false});
      case 6:
        return apply(in::ListBegin{"c1"});
      case 7:
        return apply(in::ListComplete{"c1"});
      default:
        return apply(account());
    }
  }
  std::shared_ptr<const View> view() { return engine_.view(); }

  std::string review() {
    const std::string resource = pick({"nvidia.com/gpu", "nvidia.com/gpu", "nvidia.com/mig-1g.10gb",
                                       "nvidia.com/gpu.shared", "cpu", "example.com/gpu"});
    const std::string privileged = below(8) == 0 ? R"(,"securityContext":{"privileged":true})" : "";
    std::string meta = R"("name":"p","annotations":{"subak.gpu/x":"")";
    if (below(3) == 0) meta += R"(,"subak.gpu/account":")" + path() + "\"";
    if (below(3) == 0) meta += R"(,"subak.gpu/job":"j","subak.gpu/gang-size":")" + number(6) + "\"";
    if (below(6) == 0)
      meta += R"(,"subak.gpu/priority":")" + pick({"batch", "prod", "7", "high"}) + "\"";
    std::string spec;
    if (below(2) == 0) {
      spec = R"(,"nodeSelector":{"nvidia.com/gpu.product":")" + pick(kProducts) + "\"}";
    }
    return review_text(pod(container(resource, number(12), privileged), meta + "}", spec), ns(),
                       pick({"ana", "bob", "system:serviceaccount:x:y"}));
  }
  std::string cluster_name() { return pick({"c1", "c1", "c2", "c3", ""}); }

 private:
  template <class Body>
  void apply(Body body) {
    engine_.apply({now_ms_ += 1000, "", "test", in::Body(std::move(body))});
  }
  std::uint64_t below(std::uint64_t n) { return bits_() % n; }
  std::string number(std::uint64_t n) { return std::to_string(below(n)); }
  template <class Items = std::vector<std::string>>
  std::string pick(const Items& items) {
    return std::string(items[below(items.size())]);
  }
  std::string pick(std::initializer_list<const char*> items) {
    return *(items.begin() + below(items.size()));
  }
  std::string ns() { return "ns-" + number(6); }
  std::string path() {
    return pick({"", "a", "b", "a.x", "a.y", "a.x.deep", "b.x", "a/ana", "a.x/ana", "b.x/bob"});
  }
  ProductAmounts amounts() {
    ProductAmounts out;
    for (const char* product : {"NVIDIA-A100-SXM4-40GB", "NVIDIA-H100-80GB-HBM3", "gpu"}) {
      if (below(3) == 0) out.push_back({product, static_cast<MilliGpu>(below(16)) * 1000});
    }
    return out;
  }
  in::SetAccount account() {
    in::SetAccount edit;
    edit.spec.path = path();
    edit.spec.user = edit.spec.path.find('/') != std::string::npos;
    edit.spec.shares = static_cast<std::int64_t>(below(5));
    edit.spec.quota = edit.spec.user ? ProductAmounts{} : amounts();
    edit.spec.limit = amounts();
    edit.spec.borrow =
        pick({"", "", "none", "4", "gpu=4,NVIDIA-H100-80GB-HBM3=2", "NVIDIA-A100-SXM4-40GB=0"});
    edit.spec.draining = below(8) == 0;
    edit.spec.held = below(8) == 0;
    if (below(8) == 0) edit.spec.time_limits = TimeLimits::kEnforced;
    if (!edit.spec.user && below(2) == 0) edit.spec.namespaces = {ns()};
    if (!edit.spec.user && below(4) == 0) edit.spec.namespaces = {"c1/" + ns()};
    edit.reason = "test";
    return edit;
  }
  in::SetCluster cluster() {
    in::SetCluster edit;
    edit.name = pick({"c1", "c2"});
    edit.mode = static_cast<Mode>(below(3));
    if (below(2) == 0) edit.namespaces = {{ns(), static_cast<Mode>(below(3))}};
    edit.reason = "test";
    return edit;
  }
  in::SetPolicy policy() {
    in::SetPolicy edit{engine_.view()->policy, {}};
    edit.policy.system_namespaces.clear();
    if (below(2) == 0) edit.policy.system_namespaces = {ns()};
    edit.policy.priority_classes.clear();
    if (below(2) == 0) edit.policy.priority_classes = {{"batch", 0, false, {}}};
    if (below(2) == 0) edit.policy.priority_classes.push_back({"prod", 7, true, {"a"}});
    edit.policy.queue.node_pools.clear();
    if (below(2) == 0) {
      NodePool pool{"pool", "c1", {"pool", "x"}, 0, static_cast<std::uint32_t>(1 + below(3)), {}};
      pool.node = node();
      pool.node.name.clear();
      pool.node.mig.clear();
      pool.node.mig_gpus = 0;
      pool.node.labels = {pool.label};
      edit.policy.queue.node_pools = {pool};
    }
    return edit;
  }
  NodeSpec node() {
    NodeSpec spec;
    spec.name = "n" + number(4);
    spec.product = pick(kProducts);
    spec.gpus = 8;
    spec.cpu_milli = static_cast<std::int64_t>(below(3)) * 64'000;
    if (below(2) == 0) spec.extended = {{"rdma/hca", static_cast<std::int64_t>(1 + below(8))}};
    spec.unhealthy_gpus = static_cast<std::int64_t>(below(3));
    spec.numa_gpus = below(2) == 0 ? 4 : 0;
    spec.numa_cpu_milli = below(2) == 0 ? 32'000 : 0;
    spec.unschedulable = below(4) == 0;
    if (below(2) == 0 && spec.product == kProducts[0]) {
      spec.mig_gpus = 1;
      spec.mig = {{"1g.10gb", 7}};
    }
    return spec;
  }

  std::mt19937_64 bits_;
  Engine engine_;
  TimeMs now_ms_ = 1'700'000'000'000;
};

// As the leader's hub does it: a new copy only where something that is read has changed.
TEST(AdmissionSnapshot, AnswersInRandomStatesAlike) {
  std::map<std::string, int> seen;
  int copies = 0, edits = 0;
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    RandomState state(seed);
    AdmissionConfig config;
    if (seed % 2 == 0) config.extra_gpu_resources = {"example.com/gpu"};
    std::shared_ptr<const View> last = state.view();
    AdmissionBasis copy = copy_of(*last, config);
    for (int step = 0; step < 60; ++step, ++edits) {
      state.edit();
      const std::shared_ptr<const View> view = state.view();
      if (!api::is_same_admission_snapshot(*std::exchange(last, view), *view)) {
        copy = copy_of(*view, config);
        ++copies;
      }
      Compared compared(*view, config, copy);
      for (int i = 0; i < 4; ++i) compared.expect_same(state.review(), state.cluster_name());
      if (HasFatalFailure()) FAIL() << "seed " << seed << " step " << step;
      for (const auto& [what, count] : compared.seen()) seen[what] += count;
    }
  }
  EXPECT_LT(copies, edits) << "a refused edit changes nothing";
  for (const char* what :
       {"denied over_limit none ", "denied draining none ", "patched gated none ",
        "denied unknown_account none ", "denied outside_subtree none ",
        "denied invalid_value none ", "patched ExceedsFleet none ",
        "allowed exempt_namespace none ", "denied bypass privileged ", "allowed warn none ",
        "allowed unmanaged_namespace none "}) {
    EXPECT_GT(seen[what], 0) << what;
  }
}

// --- what is refused -----------------------------------------------------------------------------

std::string refused(const std::function<void(v1::StaticResponse&)>& spoil) {
  std::vector<v1::StaticResponse> parts = api::admission_snapshot_parts(*test::fixed_view(), {});
  EXPECT_EQ(parts.size(), 1u);
  spoil(parts.front());
  const auto copy = sent(parts);
  return copy.ok() ? "" : copy.error().field;
}

TEST(AdmissionSnapshot, WhatIsNotInOrderIsRefusedByItsField) {
  using Part = v1::StaticResponse;
  EXPECT_EQ(refused([](Part&) {}), "");
  EXPECT_EQ(refused([](Part& p) { p.clear_begins(); }), "begins");
  EXPECT_EQ(refused([](Part& p) { p.clear_rules(); }), "rules");
  EXPECT_EQ(refused([](Part& p) { p.mutable_rules()->clear_device_claims(); }),
            "rules.device_claims");
  EXPECT_EQ(refused([](Part& p) { p.clear_accounts(); }), "users[0].path");
  EXPECT_EQ(refused([](Part& p) { p.mutable_accounts()->DeleteSubrange(0, 1); }), "accounts");
  EXPECT_EQ(refused([](Part& p) { p.mutable_accounts(1)->set_path("no/user"); }),
            "accounts[1].user");
  EXPECT_EQ(refused([](Part& p) { p.mutable_accounts(1)->set_path("nobody.below"); }),
            "accounts[1].path");
  EXPECT_EQ(refused([](Part& p) { p.add_accounts()->set_path("ml"); }), "accounts[14].path");
  EXPECT_EQ(refused([](Part& p) { p.mutable_accounts(1)->add_namespaces("team-a"); }),
            "accounts[3].namespaces");
  EXPECT_EQ(refused([](Part& p) { p.mutable_accounts(1)->set_borrow_milligpu(-1); }),
            "accounts[1].borrow_milligpu");
  EXPECT_EQ(refused([](Part& p) { p.mutable_accounts(1)->set_user_limits("jobs=x"); }),
            "accounts[1].user_limits");
  EXPECT_EQ(refused([](Part& p) { p.clear_products(); }), "accounts[13].limit");
  EXPECT_EQ(refused([](Part& p) { p.add_products(p.products(0)); }), "products[1]");
  EXPECT_EQ(refused([](Part& p) { p.add_effective_quotas()->set_account("x"); }),
            "effective_quotas");
  EXPECT_EQ(refused([](Part& p) { p.mutable_clusters(0)->set_mode(v1::MODE_UNSPECIFIED); }),
            "clusters[0].mode");
  EXPECT_EQ(refused([](Part& p) { *p.add_clusters() = v1::Cluster(p.clusters(0)); }),
            "clusters[1].id");
  EXPECT_EQ(refused([](Part& p) {
              v1::Cluster* const again = p.add_clusters();
              *again = v1::Cluster(p.clusters(0));
              again->set_id(again->id() + 1);
            }),
            "clusters[1].name");
  EXPECT_EQ(refused([](Part& p) {
              p.mutable_clusters(0)->mutable_products(0)->set_installed_milligpu(-1);
            }),
            "clusters[0].products[0].installed_milligpu");
}

TEST(AdmissionSnapshot, PartsAreOfOneCopy) {
  AdmissionConfig config;
  auto view = std::make_shared<View>(*test::fixed_view());
  view->seq = 7;
  auto accounts = std::make_shared<AccountsView>(*view->accounts);
  AccountSpec large = test::account("large");
  for (std::size_t i = 0; i < limits::kMaxNamespacesPerAccount; ++i) {
    large.namespaces.push_back(std::to_string(100'000 + i) + std::string(240, 'n'));
  }
  for (const char* path : {"large-a", "large-b", "large-c", "large-d", "large-e", "large-f"}) {
    large.path = path;
    for (std::string& ns : large.namespaces) ns.back() = path[6];
    test::add_account(*accounts, large);
  }
  view->accounts = accounts;
  std::vector<v1::StaticResponse> parts = api::admission_snapshot_parts(*view, config);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_TRUE(sent(parts)->has_value());
  parts[1].set_sequence(8);
  EXPECT_EQ(sent(parts).error().field, "sequence");
  parts[1] = parts[0];
  EXPECT_EQ(sent(parts).error().field, "begins");
  EXPECT_EQ(sent({parts[0]})->has_value(), false) << "half a copy is none";
}

TEST(AdmissionSnapshot, IsBounded) {
  v1::StaticResponse part;
  part.set_begins(true);
  part.mutable_rules();
  v1::StaticResponse more;
  more.add_products(std::string(limits::kMaxAdmissionSnapshotBytes / 4, 'x'));
  api::AdmissionSnapshotAssembler assembler;
  ASSERT_TRUE(assembler.take(part).ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(assembler.take(more).ok());
  const auto beyond = assembler.take(more);
  ASSERT_FALSE(beyond.ok());
  EXPECT_THAT(beyond.error().message(), HasSubstr("want a copy of at most 134217728"));
}

}  // namespace
}  // namespace subak

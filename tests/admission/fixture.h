// For tests of the webhook: a fixed View (engine/answers/view.h), and short ways to write reviews.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admission/policy.h"
#include "engine/answers/view.h"
#include "tests/kube/pods.h"

namespace subak::test {

// The accounts of fixed_view(): ml (limit 64) > ml.vision (namespace team-a, limit 16), ml.speech
// (team-b); old (team-d, draining). Cluster c1 enforces, with 4 nodes of 8 H100 and 14 slices
// 1g.10gb. team-w is in warn, team-o in observe; orphan enforces, but no account has it.
inline void add_account(AccountsView& accounts, AccountSpec spec) {
  AccountsView::Row row;
  row.id = AccountId(static_cast<std::uint32_t>(accounts.by_path.size() + 1));
  row.revision = 1;
  const auto by_id = [&accounts](const ProductAmounts& amounts) {
    std::vector<ProductDemand> out;
    for (const ProductAmount& a : amounts) {
      out.emplace_back(accounts.product(a.product), a.milligpu);
    }
    return out;
  };
  row.quota = by_id(spec.quota);
  row.limit = by_id(spec.limit);
  const BorrowBound borrow = parse_borrow(spec.borrow, "borrow").value();
  row.borrow = borrow.total;
  row.borrow_of = by_id(borrow.by_product);
  const UserLimits users = parse_user_limits(spec.user_limits, "user_limits").value();
  BorrowAmounts by_product;
  by_product.user_gpus = by_id(users.gpus);
  row.extra = extra_limits_of(spec, by_product);
  const auto path = std::make_shared<const std::string>(spec.path);
  for (const std::string& ns : spec.namespaces) {
    accounts.by_namespace = accounts.by_namespace.changed({{ns, path}});
  }
  row.spec = std::move(spec);
  accounts.by_path =
      accounts.by_path.changed({{*path, std::make_shared<const AccountsView::Row>(row)}});
}

inline AccountSpec account(std::string path, std::vector<std::string> namespaces = {},
                           MilliGpu limit = 0) {
  AccountSpec spec;
  spec.path = std::move(path);
  spec.namespaces = std::move(namespaces);
  if (limit > 0) spec.limit = {{kAnyProduct, limit}};
  spec.user = spec.path.find('/') != std::string::npos;
  return spec;
}

inline std::shared_ptr<const View> fixed_view() {
  auto accounts = std::make_shared<AccountsView>();
  accounts->products = std::make_shared<const std::map<std::string, ProductId, std::less<>>>(
      std::map<std::string, ProductId, std::less<>>{{"NVIDIA-H100-80GB-HBM3", ProductId(1)}});
  add_account(*accounts, account(""));
  add_account(*accounts, account("ml", {}, 64'000));
  add_account(*accounts, account("ml.vision", {"team-a", "team-w", "team-o"}, 16'000));
  add_account(*accounts, account("ml.vision.lab"));
  add_account(*accounts, account("ml.speech", {"team-b"}));
  AccountSpec old = account("old", {"team-d"});
  old.draining = true;
  add_account(*accounts, old);
  // Further accounts: stop (draining) > stop.child (team-s). typed (team-t, at most 4 H100) >
  // typed/ana (at most 2 GPUs), typed/ana.lee. tight (team-q, quota 2, borrows nothing). short
  // (team-l, limits of at most 2 hours, 2 GPUs for each user). paid (team-e, 100h/total) >
  // paid.month (team-m, 10h/month), paid.short (team-k, a default time limit of 2 hours).
  AccountSpec stop = account("stop");
  stop.draining = true;
  add_account(*accounts, stop);
  add_account(*accounts, account("stop.child", {"team-s"}));
  AccountSpec typed = account("typed", {"team-t"});
  typed.limit = {{"NVIDIA-H100-80GB-HBM3", 4000}};
  add_account(*accounts, typed);
  add_account(*accounts, account("typed/ana", {}, 2000));
  add_account(*accounts, account("typed/ana.lee"));
  AccountSpec tight = account("tight", {"team-q"});
  tight.quota = {{kAnyProduct, 2000}};
  tight.borrow = "none";
  add_account(*accounts, tight);
  AccountSpec brief = account("short", {"team-l"});
  brief.job_limits = "queued=0,time=2h";
  brief.user_limits = "gpu=2";
  add_account(*accounts, brief);
  AccountSpec paid = account("paid", {"team-e"});
  paid.budgets = "100h/total";
  add_account(*accounts, paid);
  AccountSpec month = account("paid.month", {"team-m"});
  month.budgets = "10h/month";
  add_account(*accounts, month);
  AccountSpec hours = account("paid.short", {"team-k"});
  hours.default_time_limit_ms = 2 * kHourMs;
  add_account(*accounts, hours);
  ClusterView c;
  c.id = ClusterId(1);
  c.name = "c1";
  c.mode = Mode::kEnforce;
  c.namespaces = {{"orphan", Mode::kEnforce}, {"team-o", Mode::kObserve}, {"team-w", Mode::kWarn}};
  c.synced = true;
  ProductTotals h100;
  h100.cluster = c.id;
  h100.product = "NVIDIA-H100-80GB-HBM3";
  h100.nodes = 4;
  h100.milligpu.installed = 32'000;
  c.products = {h100};
  c.mig_slices = {{"1g.10gb", 14}, {"1g.99gb", 1}};
  c.product_node_gpus = {8};
  c.largest_node_gpus = 8;
  c.largest_node = {128'000,
                    std::int64_t{2} << 40,
                    {{"rdma/hca", 8}, {"rdma/hca_shared_devices_a", 8}},
                    false,
                    {{"1g.10gb", 7}, {"1g.99gb", 1}}};
  c.known_as = "system:serviceaccount:subak-system:subak";  // an edge follows the cluster
  auto view = std::make_shared<View>();
  view->policy.queue.park_after = 0;  // each owner that can wait suspended does
  view->accounts = accounts;
  view->clusters = std::make_shared<std::vector<ClusterView>>(std::vector{c});
  return view;
}

// Returns an AdmissionReview about `object`, as JSON text.
inline std::string review_text(
    std::string_view object, std::string_view ns = "team-a", std::string_view user = "ana",
    std::string_view operation = "CREATE", std::string_view old_object = "null",
    std::string_view kind = R"({"group":"","version":"v1","kind":"Pod"})",
    std::string_view groups = "[]") {
  std::string s =
      R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u-1","kind":)";
  s += kind;
  s += R"(,"namespace":")" + std::string(ns) + R"(","operation":")" + std::string(operation);
  s += R"(","userInfo":{"username":")" + std::string(user) + R"(","groups":)" + std::string(groups);
  s += R"(},"object":)" + std::string(object) + R"(,"oldObject":)" + std::string(old_object) + "}}";
  return s;
}

// A copy of a review with the padding that the parser needs, and its parsed content.
struct Parsed {
  explicit Parsed(std::string t) : text(std::move(t)) {
    text.reserve(text.size() + kBodyPadding);
    result.emplace(parser.parse(std::span<const char>(text.data(), text.size())));
  }
  const Review& review() const { return result->value(); }
  std::string text;
  ReviewParser parser;
  std::optional<Result<Review>> result;
};

inline Decision decide_text(const std::string& review, Endpoint endpoint = Endpoint::kMutate,
                            const AdmissionConfig& config = {}, std::string_view cluster = "c1") {
  const Parsed parsed(review);
  return decide(*fixed_view(), config, cluster, endpoint, parsed.review());
}

}  // namespace subak::test

#include "engine/derive/views.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/limits.h"
#include "core/must.h"
#include "model/product.h"
#include "placement/fleet/views.h"
#include "placement/search/pools.h"

namespace subak::derive {
namespace {

using Accounts = std::shared_ptr<const AccountsView>;
using Clusters = std::shared_ptr<const std::vector<ClusterView>>;

// A user without rules of its own is not shown: only its account's rules apply.
bool is_shown(const AccountNode& node) {
  const AccountSpec& spec = node.spec;
  const bool rules = !spec.limit.empty() || !spec.borrow.empty() || spec.held || spec.draining ||
                     spec.default_time_limit_ms != 0 || node.limits.extra != nullptr;
  return !node.removed && (!spec.user || rules);
}

AccountsView::Row row_of(const AccountNode& node) {
  must(!node.removed, "a removed account has no row");
  return {node.id,          node.spec,           node.revision,          node.quota,
          node.limits.gpus, node.lending.borrow, node.lending.borrow_of, node.limits.extra};
}

// The changes of edited nodes against the last View.
struct Changes {
  std::vector<SharedMap<AccountsView::Row>::Entry> rows;
  std::vector<SharedMap<std::string>::Entry> namespaces;

  void add(const AccountNode& node, const AccountsView& last) {
    const std::string& path = node.spec.path;
    const AccountsView::Row* const old = last.of_path(path);
    if (old != nullptr) {
      for (const std::string& ns : old->spec.namespaces) taken_.emplace_back(ns, nullptr);
    }
    rows.emplace_back(
        path, is_shown(node) ? std::make_shared<const AccountsView::Row>(row_of(node)) : nullptr);
    if (node.removed || node.spec.namespaces.empty()) return;
    const auto owner = std::make_shared<const std::string>(path);
    for (const std::string& ns : node.spec.namespaces) namespaces.emplace_back(ns, owner);
  }
  // A path that an account left. Another account may have it by now: add that one later.
  void left(const std::string& path, const AccountsView& last) {
    if (const AccountsView::Row* const old = last.of_path(path)) {
      for (const std::string& ns : old->spec.namespaces) taken_.emplace_back(ns, nullptr);
    }
    rows.emplace_back(path, nullptr);
  }
  // Two accounts name a namespace that moved from one to the other: the new owner counts.
  void finish() { namespaces.insert(namespaces.begin(), taken_.begin(), taken_.end()); }

 private:
  std::vector<SharedMap<std::string>::Entry> taken_;
};

void refresh_products(const Fleet& fleet, AccountsView& view) {
  if (view.products && view.products->size() == fleet.products().size()) return;
  auto products = std::make_shared<std::map<std::string, ProductId, std::less<>>>();
  for (std::size_t i = 1; i <= fleet.products().size(); ++i) {
    const ProductId id(static_cast<std::uint16_t>(i));
    products->emplace(fleet.products().name(id), id);
  }
  must(products->size() == fleet.products().size(), "each product has one name");
  view.products = std::move(products);
}

// Returns the accounts of the last View, changed by the edits since then.
Accounts accounts_of(const State& s, ViewMemo& memo) {
  const AccountTree& tree = s.tree();
  const bool products =
      memo.accounts && memo.accounts->products->size() == s.fleet().products().size();
  if (products && memo.accounts_version == tree.structure_version()) return memo.accounts;
  auto out = memo.accounts ? std::make_shared<AccountsView>(*memo.accounts)
                           : std::make_shared<AccountsView>();
  Changes changes;
  const std::vector<std::string>& left = tree.names().left();
  for (; memo.left_paths < left.size(); ++memo.left_paths)
    changes.left(left[memo.left_paths], *out);
  for (const AccountId id : std::set<AccountId>(tree.edited_since(memo.accounts_version).begin(),
                                                tree.edited_since(memo.accounts_version).end())) {
    changes.add(tree.node(id), *out);
  }
  changes.finish();
  out->by_path = out->by_path.changed(std::move(changes.rows));
  out->by_namespace = out->by_namespace.changed(std::move(changes.namespaces));
  refresh_products(s.fleet(), *out);
  memo.accounts = out;
  memo.accounts_version = tree.structure_version();
  return out;
}

LargestNode largest_node(const State& s, ClusterId cluster) {
  LargestNode out;
  std::map<std::string, std::int64_t> extended, slices;
  bool all_say_cpu = true, all_say_memory = true, all_say_container = true;
  for (const NodeId id : s.fleet().nodes(cluster)) {
    must(s.fleet().cluster_of(id) == cluster, "a cluster's nodes are its own");
    const NodeSpec& node = *s.fleet().node(id);
    if (node.gpus == 0) continue;
    all_say_cpu = all_say_cpu && node.cpu_milli > 0;
    all_say_memory = all_say_memory && node.memory_bytes > 0;
    out.cpu_milli = std::max(out.cpu_milli, node.cpu_milli);
    out.memory_bytes = std::max(out.memory_bytes, node.memory_bytes);
    all_say_container = all_say_container && node.numa_cpu_milli > 0;
    out.container_cpu_milli = std::max(out.container_cpu_milli, node.numa_cpu_milli);
    for (const ResourceCount& r : node.extended) {
      std::int64_t& most = extended[r.name];
      most = std::max(most, r.count);
    }
    for (const MigSlices& m : node.mig) slices[m.profile] = std::max(slices[m.profile], m.count);
  }
  for (const auto& [profile, count] : slices) out.mig.push_back({profile, count});
  if (!all_say_cpu) out.cpu_milli = 0;
  if (!all_say_memory) out.memory_bytes = 0;
  if (!all_say_container) out.container_cpu_milli = 0;
  for (const auto& [name, count] : extended) {
    out.more = out.extended.size() == limits::kMaxResourceNames;
    if (out.more) break;
    out.extended.push_back({name, count});
  }
  must(out.extended.size() <= limits::kMaxResourceNames, "a view names a bounded list");
  return out;
}

// Returns for each product the most GPUs that one container can have on a node.
std::map<std::string, std::int64_t> container_gpus(const State& s, ClusterId cluster) {
  std::map<std::string, std::int64_t> most;
  for (const NodeId id : s.fleet().nodes(cluster)) {
    const NodeSpec& node = *s.fleet().node(id);
    const std::int64_t here = node.numa_gpus > 0 ? std::min(node.numa_gpus, node.gpus) : node.gpus;
    std::int64_t& of_product = most[std::string(base_product(node.product))];
    of_product = std::max(of_product, here);
  }
  return most;
}

// Refreshes the parts that only change with nodes. They need a look at every node.
void refresh_nodes(const State& s, ViewMemo& memo) {
  const FleetPools& pools = s.clusters().pools();
  if (memo.nodes_version == s.nodes().version() && memo.pools_version == pools.version) return;
  memo.pools_version = pools.version;
  memo.slices.clear();
  memo.node_gpus.clear();
  memo.largest.clear();
  memo.container_gpus.clear();
  for (const auto& [id, c] : s.clusters().all()) {
    for (const MigRow& row : mig_rows(s.fleet(), id))
      memo.slices[id][row.profile] += row.configured;
    memo.largest[id] = largest_node(s, id);
    memo.container_gpus[id] = container_gpus(s, id);
  }
  for (const PoolNodes& nodes : pool_nodes(s.fleet(), pools)) {
    const FleetPool& of = pools.all[nodes.pool];
    const NodeSpec& node = of.pool.node;
    memo.largest[of.cluster].to_come.push_back(
        {node.product, node.gpus, nodes.to_come, node.cpu_milli, node.memory_bytes});
  }
  for (const ProductTotals& p : s.fleet().totals()) {
    memo.node_gpus[p.cluster][p.product] = largest_node_gpus(s.fleet(), p.cluster, p.product);
  }
  memo.nodes_version = s.nodes().version();
}

void refresh_totals(const State& s, ViewMemo& memo) {
  if (memo.totals_version == s.fleet().totals_version()) return;
  memo.totals = s.fleet().totals();
  memo.totals_version = s.fleet().totals_version();
}

Clusters clusters_of(const State& s, const Observed& observed, ViewMemo& memo) {
  refresh_nodes(s, memo);
  refresh_totals(s, memo);
  auto out = std::make_shared<std::vector<ClusterView>>();
  for (const auto& [id, c] : s.clusters().all()) {
    ClusterView& view = out->emplace_back();
    view.id = id;
    view.name = c.name;
    view.mode = c.mode;
    view.namespaces = c.namespaces;
    view.synced = c.synced;
    view.owned = c.owned;
    view.reports = {c.session, c.seen_until_ms, {}};
    view.labels = c.labels;
    view.unmanaged_pods = observed.unmanaged_pods().of(id);
    view.known_as = observed.lists().known_as(id);
    if (const std::uint32_t least = s.policy().queue.park_after; least > 0)
      view.reports.crowded = s.jobs().waiting().crowded(id, least);
    for (const ProductTotals& p : memo.totals) {
      if (p.cluster != id) continue;
      view.products.push_back(p);
      const std::int64_t gpus = memo.node_gpus[id][p.product];
      view.product_node_gpus.push_back(gpus);
      view.largest_node_gpus = std::max(view.largest_node_gpus, gpus);
      view.product_container_gpus.push_back(memo.container_gpus[id][p.product]);
    }
    must(view.products.size() == view.product_node_gpus.size(), "each product has a largest node");
    view.largest_node = memo.largest[id];
    const auto slices = memo.slices.find(id);
    if (slices == memo.slices.end()) continue;
    view.mig_slices.assign(slices->second.begin(), slices->second.end());
  }
  must(out->size() == s.clusters().all().size(), "each cluster has a view");
  return out;
}

}  // namespace

std::shared_ptr<const View> view(const State& s, const Observed& observed, ViewMemo& memo) {
  auto view = std::make_shared<View>();
  view->seq = s.seq();
  view->time_ms = s.now();
  view->policy = s.policy();
  view->fact_version = s.fact_version();
  view->accounts = accounts_of(s, memo);
  view->clusters = clusters_of(s, observed, memo);
  for (std::size_t state = 0; state < view->jobs.size(); ++state) {
    view->jobs[state] = s.jobs().sets().count(static_cast<JobState>(state));
  }
  for (const JobId id : s.jobs().sets().crowded())
    view->pods_beyond_gang += s.jobs().at(id).pods_behind();
  must(view->accounts && view->clusters, "a view has accounts and clusters");
  view->ledger_rows = s.ledger().rows();
  return view;
}

}  // namespace subak::derive

#include "engine/derive/views.h"

#include <algorithm>
#include <utility>

namespace subak::derive {
namespace {

using Accounts = std::shared_ptr<const AccountsView>;
using Clusters = std::shared_ptr<const std::vector<ClusterView>>;

// Made anew only after an edit of the tree; shared by all views until the next.
Accounts accounts_of(const State& s, ViewMemo& memo) {
  const AccountTree& tree = s.tree();
  if (memo.accounts && memo.accounts_version == tree.structure_version()) return memo.accounts;
  auto out = std::make_shared<AccountsView>();
  for (AccountId id : tree.preorder()) {
    const AccountNode& node = tree.node(id);
    if (node.spec.user) continue;
    const std::size_t index = out->rows.size();
    out->rows.push_back({id, node.spec, node.revision});
    out->by_path[node.spec.path] = index;
    for (const std::string& ns : node.spec.namespaces) out->by_namespace[ns] = index;
  }
  memo.accounts = out;
  memo.accounts_version = tree.structure_version();
  return out;
}

// What only nodes that come, change or go can change, which is looked up node by node.
void refresh_nodes(const State& s, ViewMemo& memo) {
  if (memo.nodes_version == s.nodes().version()) return;
  memo.slices.clear();
  memo.node_gpus.clear();
  for (const auto& [id, c] : s.clusters().all()) {
    for (const MigRow& row : s.fleet().mig(id)) memo.slices[id][row.profile] += row.configured;
  }
  for (const ProductTotals& p : s.fleet().totals()) {
    memo.node_gpus[p.cluster][p.product] = s.fleet().largest_node_gpus(p.cluster, p.product);
  }
  memo.nodes_version = s.nodes().version();
}

void refresh_totals(const State& s, ViewMemo& memo) {
  if (memo.totals_version == s.fleet().totals_version()) return;
  memo.totals = s.fleet().totals();
  memo.totals_version = s.fleet().totals_version();
}

Clusters clusters_of(const State& s, ViewMemo& memo) {
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
    view.session = c.session;
    for (const ProductTotals& p : memo.totals) {
      if (p.cluster != id) continue;
      view.products.push_back(p);
      const std::int64_t gpus = memo.node_gpus[id][p.product];
      view.product_node_gpus.push_back(gpus);
      view.largest_node_gpus = std::max(view.largest_node_gpus, gpus);
    }
    const auto slices = memo.slices.find(id);
    if (slices == memo.slices.end()) continue;
    view.mig_slices.assign(slices->second.begin(), slices->second.end());
  }
  return out;
}

}  // namespace

std::shared_ptr<const View> view(const State& s, ViewMemo& memo) {
  auto view = std::make_shared<View>();
  view->seq = s.seq();
  view->time_ms = s.now();
  view->policy = s.policy();
  view->fact_version = s.fact_version();
  view->accounts = accounts_of(s, memo);
  view->clusters = clusters_of(s, memo);
  for (std::size_t state = 0; state < view->jobs.size(); ++state) {
    view->jobs[state] = s.jobs().count(static_cast<JobState>(state));
  }
  view->ledger_rows = s.ledger().rows();
  return view;
}

}  // namespace subak::derive

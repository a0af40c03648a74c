// The View: the small, immutable snapshot for other threads. The loop publishes a pointer to one
// once its batch is durable, so no reader sees data that a crash could undo. It is const
// throughout. Successive views share the parts that did not change. Threads: any, read-only.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "accounting/quota/entitlement.h"
#include "accounting/tree.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "core/shared_map.h"
#include "engine/answers/namespace_labels.h"
#include "engine/answers/unmanaged_pods.h"
#include "model/input.h"
#include "model/job.h"
#include "placement/fleet/fleet.h"

namespace subak {

// The account tree for the webhook, for look-ups only. An edit of one account makes a new version
// that shares the rest.
struct AccountsView {
  // One account, or user with rules of its own.
  struct Row {
    // Never 0.
    AccountId id;
    // As configured.
    AccountSpec spec;
    // Of the settings, for edits that name it.
    std::int64_t revision = 0;
    // As accounting/quota/entitlement.h reads them: by product. `quota` is the effective one.
    std::vector<ProductDemand> quota, limit;
    // The most beyond its quota; none: no bound.
    std::optional<MilliGpu> borrow;
    // For accounting/quota/entitlement.h, with no GPUs held. Borrowed from this row.
    Rules rules() const;
  };
  // Live accounts, and users with rules of their own.
  SharedMap<Row> by_path;
  // The path of the account that names "ns" or "cluster/ns".
  SharedMap<std::string> by_namespace;
  // Numbers of GPU products. A product that no node or account has named has none.
  std::shared_ptr<const std::map<std::string, ProductId, std::less<>>> products;

  // The account that names this namespace. nullptr: none does.
  const Row* of_namespace(std::string_view cluster, std::string_view ns) const;
  // The live account or user of this path. nullptr: there is none, or it is a user without rules.
  const Row* of_path(std::string_view path) const { return by_path.find(path); }
  // Returns the number of a product; none if no node or account has named it.
  ProductId product(std::string_view name) const;
  // Returns the name of a product; "" if there is none of this number.
  std::string_view product_name(ProductId id) const;
  // Returns live accounts without users, parents first. O(accounts).
  std::vector<const Row*> accounts() const;
  // Returns the nearest rule, with its owner, that refuses `amounts` for the account or user of
  // this path: one that could never allow them, or that accepts nothing new. The rule is of that
  // account or of one above it. A user without rules has those of its account. None: no rule
  // refuses.
  struct Refusal {
    // The owner of the rule. Valid as long as the view.
    const Row* row;
    // The rule with its figures.
    Binding binding;
  };
  std::optional<Refusal> refusal(std::string_view path, std::span<const ProductDemand> amounts,
                                 Asking asking) const;
  // True if `path` is `ancestor` or below it.
  static bool is_within(std::string_view path, std::string_view ancestor);
};

// The largest amount of each resource beside GPUs on one GPU node of a cluster. Each is its own
// maximum.
struct LargestNode {
  // 0: some node does not report it, so no maximum is known.
  std::int64_t cpu_milli = 0, memory_bytes = 0;
  // By name, at most limits::kMaxResourceNames. `more`: the rest is left out.
  std::vector<ResourceCount> extended;
  bool more = false;
  friend bool operator==(const LargestNode&, const LargestNode&) = default;
};

// One cluster for the webhook.
struct ClusterView {
  ClusterId id;
  std::string name;
  // Of namespaces that `namespaces` does not list.
  Mode mode = Mode::kObserve;
  // By name.
  std::vector<NamespaceMode> namespaces;
  // Its list is complete, so its nodes are known.
  bool synced = false;
  // Its nodes were imported; no edge reports them.
  bool owned = false;
  // The newest session; 0: no list ever began.
  std::uint64_t session = 0;
  // Totals of the cluster, by product.
  std::vector<ProductTotals> products;
  // Configured slices by profile.
  std::vector<std::pair<std::string, std::int64_t>> mig_slices;
  // GPUs of the largest node of each of `products`, and of the largest node of all.
  std::vector<std::int64_t> product_node_gpus;
  std::int64_t largest_node_gpus = 0;
  // The default if the cluster has no GPU node.
  LargestNode largest_node;
  // Never null.
  std::shared_ptr<const NamespaceLabels> labels;
  // Pods that wait for a node outside Subak. Not made from facts: a view of an engine that was only
  // fed with facts has none.
  std::shared_ptr<const UnmanagedPodList> unmanaged_pods;
  // The user name of Subak in the cluster: in::ListBegin::known_as of the newest list. Not made
  // from facts either.
  std::string known_as;
  // Returns the namespace's own mode, else the cluster's.
  Mode mode_of(std::string_view ns) const;
};

// The part of the state that other threads may see, as of one fact.
struct View {
  // The last fact that the view includes.
  std::uint64_t seq = 0;
  // The time of the last fact or input.
  TimeMs time_ms = 0;
  // A copy of the policy in force.
  Policy policy;
  // No newer kind of fact is written.
  std::uint32_t fact_version = 1;
  std::shared_ptr<const AccountsView> accounts;
  // By id.
  std::shared_ptr<const std::vector<ClusterView>> clusters;
  // How many jobs there are in each state. count() reads it.
  std::array<std::size_t, EnumText<JobState>::names.size()> jobs{};
  // Pods that have no rank in their gang.
  std::size_t pods_beyond_gang = 0;
  // How many rows the ledger ever had.
  std::uint64_t ledger_rows = 0;

  // The cluster of this name; empty: the only one. nullptr: unknown.
  const ClusterView* cluster(std::string_view name) const;
  // The account that names this namespace, else the one that the namespace's label names. nullptr:
  // there is none.
  const AccountsView::Row* account_of(const ClusterView& cluster, std::string_view ns) const;
  // Ended jobs count only while they are remembered.
  std::size_t count(JobState state) const { return jobs[static_cast<std::size_t>(state)]; }
};

}  // namespace subak

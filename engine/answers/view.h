// The View: the small, immutable snapshot of the engine's state for other threads. The webhook
// decides with it, and the metrics and the API read it. The leader's loop publishes a pointer to a
// View only when the facts that led to it are durable. So no reader sees data that a crash could
// undo. Successive Views share the parts that did not change.
// Threads: any, because a View is read-only.
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

// The account tree for the webhook, for look-ups only. An edit of one account makes a new version.
// The new version shares all other accounts with the old version.
struct AccountsView {
  // One account, or one user with rules of its own.
  struct Row {
    // The id of the account; never 0.
    AccountId id;
    // The account's settings as they were configured.
    AccountSpec spec;
    // The revision of the settings. An edit may require this revision.
    std::int64_t revision = 0;
    // Quota and limit by product, as accounting/quota/entitlement.h reads them. `quota` is
    // effective: the account's own quota, else the sum of its children's quotas.
    std::vector<ProductDemand> quota, limit;
    // The most milli-GPU that the account may have beyond its quota; nullopt: unlimited.
    std::optional<MilliGpu> borrow;
    // The most milli-GPU of single products that the account may have beyond its quota.
    std::vector<ProductDemand> borrow_of;
    // The limits besides `limit`. nullptr: the account has none.
    std::shared_ptr<const ExtraLimits> extra = nullptr;
    // Returns the account's rules for the functions of accounting/quota/entitlement.h, as if the
    // account held no GPUs. The result has spans into this row.
    Rules rules() const;
    // Returns the account's rules for each single user, as if the user held no GPUs. `extra` must
    // be set (asserted).
    Rules user_rules() const;
  };
  // Live accounts, and users with rules of their own.
  SharedMap<Row> by_path;
  // The path of the account that names "ns" or "cluster/ns".
  SharedMap<std::string> by_namespace;
  // The numbers of GPU products. A product that no node and no account has named has no number.
  std::shared_ptr<const std::map<std::string, ProductId, std::less<>>> products;

  // Returns the account that names this namespace; nullptr if no account names it.
  const Row* of_namespace(std::string_view cluster, std::string_view ns) const;
  // Returns the live account or user of this path. nullptr: no live account has the path, or it is
  // the path of a user without rules of its own.
  const Row* of_path(std::string_view path) const { return by_path.find(path); }
  // Returns the number of a product; none if no node or account has named the product.
  ProductId product(std::string_view name) const;
  // Returns the name of a product; "" if no product has this number.
  std::string_view product_name(ProductId id) const;
  // Returns all live accounts that are not users, parents first. O(accounts).
  std::vector<const Row*> accounts() const;
  // A rule that refuses amounts for an account or user.
  struct Refusal {
    // The account that has the rule. The pointer is valid as long as the view.
    const Row* row;
    // The rule with its figures.
    Binding binding;
  };
  // Returns the nearest rule that refuses `amounts` for the account or user of this path. Such a
  // rule could never allow the amounts, or its account drains. The rule belongs to this account or
  // to an account above it. For a user without rules, the rules of the user's account count.
  // nullopt: no rule refuses.
  std::optional<Refusal> refusal(std::string_view path, std::span<const ProductDemand> amounts,
                                 const JobDemand& job, Asking asking) const;
  // Returns the default time limit of the nearest account at or above this path that has one. 0:
  // none has.
  DurationMs default_time_limit(std::string_view path) const;
  // True if an account at or above this path has a hard budget.
  bool has_hard_budget(std::string_view path) const;
  // True if an account at or above this path has a hard budget with a period that ends.
  bool has_budget_period(std::string_view path) const;

 private:
  // Returns the nearest row at or above this path for which fn(row) is true; or nullptr.
  template <class F>
  const Row* nearest(std::string_view path, F&& fn) const;
};

// Nodes that a node pool may still get.
struct NodesToCome {
  // The product of the nodes' GPUs, how many GPUs each node has, and how many nodes may come.
  std::string product;
  std::int64_t gpus = 0, nodes = 0;
  // The CPU and memory of each node. 0: not known.
  std::int64_t cpu_milli = 0, memory_bytes = 0;
  friend bool operator==(const NodesToCome&, const NodesToCome&) = default;
};

// The largest amount of each resource other than GPUs on one GPU node of a cluster. Each maximum
// may be on a different node.
struct LargestNode {
  // The largest CPU and memory of a node. 0: some node does not report the resource, so no maximum
  // is known.
  std::int64_t cpu_milli = 0, memory_bytes = 0;
  // The other resources by name, at most limits::kMaxResourceNames. If `more` is set, there are
  // further names.
  std::vector<ResourceCount> extended;
  bool more = false;
  // The most MIG slices on one node, sorted by profile; each profile occurs once.
  std::vector<MigSlices> mig;
  // The most CPU that one container can have (NodeSpec::numa_cpu_milli). 0: some node has no such
  // bound.
  std::int64_t container_cpu_milli = 0;
  // The nodes that may still come, by pool.
  std::vector<NodesToCome> to_come{};
  friend bool operator==(const LargestNode&, const LargestNode&) = default;
};

// One cluster for the webhook. Its edge is the program that reports the cluster.
struct ClusterView {
  ClusterId id;
  std::string name;
  // The mode of namespaces that `namespaces` does not list.
  Mode mode = Mode::kObserve;
  // The namespaces with a mode of their own, by name.
  std::vector<NamespaceMode> namespaces;
  // True: the edge has reported all objects of the cluster, so its nodes are known.
  bool synced = false;
  // True: the cluster's nodes were imported, and no edge reports them.
  bool owned = false;
  struct Reports {
    // The number of the newest session of the cluster's edge. A session begins with a list of all
    // objects. 0: no list ever began.
    std::uint64_t session = 0;
    // The edge has reported all changes of pods up to this time; 0: not known.
    TimeMs seen_until_ms = 0;
    // The accounts with at least QueueSettings::park_after waiting gated pods in the cluster, by
    // id. The webhook suspends new owners of their pods, such as Jobs, until their turn. Empty if
    // `park_after` is 0: the webhook then suspends the owners of all accounts.
    std::vector<AccountId> crowded{};
  };
  Reports reports{};
  // Totals of the cluster, by product.
  std::vector<ProductTotals> products;
  // The configured MIG slices by profile.
  std::vector<std::pair<std::string, std::int64_t>> mig_slices;
  // For each of `products`, the GPUs of the largest node with this product; then the GPUs of the
  // largest node of all.
  std::vector<std::int64_t> product_node_gpus;
  std::int64_t largest_node_gpus = 0;
  // For each of `products`, the most GPUs that one container can have on a node with this product:
  // NodeSpec::numa_gpus, or all GPUs of the node.
  std::vector<std::int64_t> product_container_gpus;
  // The largest amounts on one node. All amounts have their default values if the cluster has no
  // GPU node.
  LargestNode largest_node;
  // The accounts that labels of the cluster's namespaces name; never null.
  std::shared_ptr<const NamespaceLabels> labels;
  // Pods that wait for a node outside Subak. No fact records these pods, so an engine that gets
  // only facts has no such pods.
  std::shared_ptr<const UnmanagedPodList> unmanaged_pods;
  // The user name of Subak in the cluster: in::ListBegin::known_as of the newest list. No fact
  // records this name.
  std::string known_as;
  // Returns the namespace's own mode if it has one, else the cluster's mode.
  Mode mode_of(std::string_view ns) const;
};

// The part of the state that other threads may see, as of one fact.
struct View {
  // The number of the last fact that the view includes.
  std::uint64_t seq = 0;
  // The time of the last fact or input.
  TimeMs time_ms = 0;
  // A copy of the policy in force.
  Policy policy;
  // The newest version of facts that Subak may write into its store.
  std::uint32_t fact_version = 1;
  std::shared_ptr<const AccountsView> accounts;
  // The clusters, by id.
  std::shared_ptr<const std::vector<ClusterView>> clusters;
  // How many jobs are in each state. count() reads this array.
  std::array<std::size_t, EnumText<JobState>::names.size()> jobs{};
  // The number of pods that have no rank in their gang.
  std::size_t pods_beyond_gang = 0;
  // How many rows the ledger ever had.
  std::uint64_t ledger_rows = 0;

  // Returns the cluster of this name; an empty name means the only cluster. nullptr: there is no
  // such cluster.
  const ClusterView* cluster(std::string_view name) const;
  // Returns the account that names this namespace in its settings, or else the account that the
  // namespace's label names. nullptr: neither names a live account, or the label names a user.
  const AccountsView::Row* account_of(const ClusterView& cluster, std::string_view ns) const;
  // Returns the number of jobs in a state. Ended jobs count only while the engine remembers them.
  std::size_t count(JobState state) const { return jobs[static_cast<std::size_t>(state)]; }
};

}  // namespace subak

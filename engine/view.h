// The View: the small, immutable picture that other threads read. The loop publishes a pointer to
// one once its batch is durable; nobody reads what a crash could unmake. Const to the leaves; parts
// that did not change are shared between successive views. Threads: any, read-only.
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

#include "accounting/entitlement.h"
#include "accounting/tree.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "core/shared_map.h"
#include "engine/input.h"
#include "engine/namespace_labels.h"
#include "engine/pending_pods.h"
#include "placement/fleet.h"
#include "queue/job.h"

namespace subak {

// The account tree as the webhook needs it. Look-ups only. An edit of one account makes a version
// that shares the rest.
struct AccountsView {
  struct Row {
    AccountId id;
    AccountSpec spec;
    std::int64_t revision = 0;
    // As the judge reads them: by product; `quota` is the effective one.
    std::vector<ProductDemand> quota, limit;
    std::optional<MilliGpu> borrow;
    // For accounting/entitlement.h, with nothing held. Borrowed from this row.
    Rules rules() const;
  };
  SharedMap<Row> by_path;               // live accounts, and users with rules of their own
  SharedMap<std::string> by_namespace;  // "ns" or "cluster/ns": the account's path
  // Numbers of GPU products; one that nobody has named has none.
  std::shared_ptr<const std::map<std::string, ProductId, std::less<>>> products;

  // The account that names this namespace; nullptr if none does.
  const Row* of_namespace(std::string_view cluster, std::string_view ns) const;
  // Live account or user of this path; nullptr if there is none, or a user without rules.
  const Row* of_path(std::string_view path) const { return by_path.find(path); }
  ProductId product(std::string_view name) const;     // none if nobody has named it
  std::string_view product_name(ProductId id) const;  // "" if there is none
  // Live accounts, no users, parents first.
  std::vector<const Row*> accounts() const;
  // The rule of the account or user of this path, or of an account above it, that could never allow
  // `amounts`, or that takes nothing new: the nearest, with whose it is. None if there is none.
  // What a user has no rules for is asked of its account.
  struct Refusal {
    const Row* row;
    Binding binding;
  };
  std::optional<Refusal> refusal(std::string_view path, std::span<const ProductDemand> amounts,
                                 Asking asking) const;
  // True if `path` is `ancestor` or below it.
  static bool is_within(std::string_view path, std::string_view ancestor);
};

// What the largest node with GPUs of a cluster has of each resource beside GPUs, each by itself.
struct LargestNode {
  std::int64_t cpu_milli = 0, memory_bytes = 0;  // 0: some node does not say
  std::vector<ResourceCount> extended;           // by name
  bool more = false;  // there are more than limits::kMaxResourceNames, which are left out
  friend bool operator==(const LargestNode&, const LargestNode&) = default;
};

// One cluster as the webhook needs it.
struct ClusterView {
  ClusterId id;
  std::string name;
  Mode mode = Mode::kObserve;
  std::vector<NamespaceMode> namespaces;
  bool synced = false;
  bool owned = false;
  std::uint64_t session = 0;  // the newest; 0: no list ever began
  std::vector<ProductTotals> products;
  std::vector<std::pair<std::string, std::int64_t>> mig_slices;  // profile, configured; by profile
  std::vector<std::int64_t> product_node_gpus;  // of the largest node of each of `products`
  std::int64_t largest_node_gpus = 0;           // of all
  LargestNode largest_node;
  std::shared_ptr<const NamespaceLabels> labels;
  // Pods that wait for a node without us. No facts: a view of an engine that was only fed with facts
  // has none.
  std::shared_ptr<const PendingPods> pending;
  std::string known_as;                     // in::ListBegin::known_as of the newest; no fact either
  Mode mode_of(std::string_view ns) const;  // the namespace's own, else the cluster's
};

// All that other threads may see of the state, as of one fact.
struct View {
  std::uint64_t seq = 0;  // facts up to here are in it
  TimeMs time_ms = 0;
  Policy policy;
  std::uint32_t fact_version = 1;  // no newer kind of fact is written
  std::shared_ptr<const AccountsView> accounts;
  std::shared_ptr<const std::vector<ClusterView>> clusters;          // by id
  std::array<std::size_t, EnumText<JobState>::names.size()> jobs{};  // how many, by state
  std::size_t pods_beyond_gang = 0;  // pods that their gang has no rank for
  std::uint64_t ledger_rows = 0;

  // nullptr if unknown; an empty name finds the only cluster.
  const ClusterView* cluster(std::string_view name) const;
  // The account that names this namespace, else the one that the namespace's label names; nullptr if
  // there is none.
  const AccountsView::Row* account_of(const ClusterView& cluster, std::string_view ns) const;
  std::size_t count(JobState state) const { return jobs[static_cast<std::size_t>(state)]; }
};

}  // namespace subak

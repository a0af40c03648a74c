// The View: the small, immutable picture that other threads read. The loop publishes a pointer to
// one once its batch is durable; nobody reads what a crash could unmake. Const to the leaves; parts
// that did not change are shared between successive views. Threads: any, read-only.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "accounting/tree.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "engine/input.h"
#include "placement/fleet.h"
#include "queue/job.h"

namespace subak {

// The account tree as the webhook needs it. Look-ups only.
struct AccountsView {
  struct Row {
    AccountId id;
    AccountSpec spec;
    std::int64_t revision = 0;
  };
  std::vector<Row> rows;  // live accounts (not users), parents first
  std::unordered_map<std::string, std::size_t> by_path;
  std::unordered_map<std::string, std::size_t> by_namespace;  // "ns" or "cluster/ns"

  // The account that names this namespace; nullptr if none does.
  const Row* of_namespace(std::string_view cluster, std::string_view ns) const;
  const Row* of_path(std::string_view path) const;
  // True if `path` is `ancestor` or below it.
  static bool is_within(std::string_view path, std::string_view ancestor);
};

// One cluster as the webhook needs it.
struct ClusterView {
  ClusterId id;
  std::string name;
  Mode mode = Mode::kObserve;
  std::vector<NamespaceMode> namespaces;
  bool synced = false;
  bool owned = false;
  std::vector<ProductTotals> products;
  std::vector<std::pair<std::string, std::int64_t>> mig_slices;  // profile, configured; by profile
  std::vector<std::int64_t> product_node_gpus;  // of the largest node of each of `products`
  std::int64_t largest_node_gpus = 0;           // of all
  Mode mode_of(std::string_view ns) const;
};

struct View {
  std::uint64_t seq = 0;  // facts up to here are in it
  TimeMs time_ms = 0;
  Policy policy;
  std::uint32_t fact_version = 1;  // no newer kind of fact is written
  std::shared_ptr<const AccountsView> accounts;
  std::shared_ptr<const std::vector<ClusterView>> clusters;  // by id
  std::array<std::size_t, EnumText<JobState>::names.size()> jobs{};  // how many, by state
  std::uint64_t ledger_rows = 0;

  // nullptr if unknown; an empty name finds the only cluster.
  const ClusterView* cluster(std::string_view name) const;
  std::size_t count(JobState state) const { return jobs[static_cast<std::size_t>(state)]; }
};

}  // namespace subak

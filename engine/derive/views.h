// Makes the View: an immutable snapshot of accounts, clusters and totals, which the webhook and
// other threads read while the engine goes on. Implements Engine::view().
// Threads: one at a time; the caller owns the memo.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/answers/view.h"
#include "engine/state/observed/observed.h"
#include "engine/state/state.h"

namespace subak::derive {

// The parts of a state's last View that the next View may share. Only view() uses the memo; the
// caller keeps it between calls.
struct ViewMemo {
  std::shared_ptr<const AccountsView> accounts;
  // AccountTree::structure_version() of `accounts`.
  std::uint64_t accounts_version = 0;
  // How many paths of AccountNames::left() were already removed from `accounts`. These are the old
  // paths of accounts that moved.
  std::size_t left_paths = 0;
  // For each cluster: the configured MIG slices by profile, the most GPUs on one node by product,
  // and LargestNode. All three depend on every node, so view() makes them again only when
  // `nodes_version` is outdated.
  std::map<ClusterId, std::map<std::string, std::int64_t>> slices;
  std::map<ClusterId, std::map<std::string, std::int64_t>> node_gpus;
  std::map<ClusterId, LargestNode> largest;
  // The most GPUs of one container by product, for each cluster. This map depends on every node
  // too.
  std::map<ClusterId, std::map<std::string, std::int64_t>> container_gpus;
  std::uint64_t nodes_version = 0;
  // The version of the node pools, on which `largest` depends too.
  std::uint64_t pools_version = 0;
  // The result of Fleet::totals(), and Fleet::totals_version() at that time.
  std::vector<ProductTotals> totals;
  std::uint64_t totals_version = 0;
};

// Returns the View of this state and of the observed reports. The cost depends on the changes since
// the memo's last View. A memo serves one state only.
std::shared_ptr<const View> view(const State& s, const Observed& observed, ViewMemo& memo);

}  // namespace subak::derive

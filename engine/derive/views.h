// The View that others may keep: accounts, clusters, totals.
// Threads: none; the memo's owner is the caller's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/state/state.h"

namespace subak::derive {

// Parts of the last View of one state that may stand in the next one. Only view() looks inside.
struct ViewMemo {
  std::shared_ptr<const AccountsView> accounts;
  std::uint64_t accounts_version = 0;                               // of the tree's structure
  std::map<ClusterId, std::map<std::string, std::int64_t>> slices;  // by MIG profile
  std::map<ClusterId, std::map<std::string, std::int64_t>>
      node_gpus;  // the most on one, by product
  std::map<ClusterId, LargestNode> largest;
  std::uint64_t nodes_version = 0;  // of these three
  std::vector<ProductTotals> totals;
  std::uint64_t totals_version = 0;
};

// The View of this state. Costs what changed since the memo's last one. The memo is of one state.
std::shared_ptr<const View> view(const State& s, ViewMemo& memo);

}  // namespace subak::derive

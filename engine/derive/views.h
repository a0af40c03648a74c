// The View for other threads: accounts, clusters, totals. Threads: none; the caller owns the memo.
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

// The parts of a state's last View that the next one may share. Only view() reads it.
struct ViewMemo {
  std::shared_ptr<const AccountsView> accounts;
  std::uint64_t accounts_version = 0;                               // of the tree's structure
  std::map<ClusterId, std::map<std::string, std::int64_t>> slices;  // by MIG profile
  std::map<ClusterId, std::map<std::string, std::int64_t>>
      node_gpus;  // the most on one node, by product
  std::map<ClusterId, LargestNode> largest;
  std::uint64_t nodes_version = 0;  // of these three
  std::vector<ProductTotals> totals;
  std::uint64_t totals_version = 0;
};

// The View of this state and of what was observed beside it. The cost depends on the changes since the memo's last one. A memo is of
// one state.
std::shared_ptr<const View> view(const State& s, const Observed& observed, ViewMemo& memo);

}  // namespace subak::derive

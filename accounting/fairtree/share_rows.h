// The tree behind a list of ShareRow, with parents resolved. FairShare=parent accounts are passed
// through. Internal to fairtree.cc and classic_fair_share.cc.
// Threads: pure function.
#pragma once

#include <cstddef>
#include <vector>

#include "accounting/fairtree/fairtree.h"

namespace subak {

// The tree. Its indexes are those of the rows.
struct ShareTree {
  struct Node {
    // Not null.
    const ShareRow* row = nullptr;
    // The nearest account above it without parent_shares.
    std::size_t above = 0;
    // Rows whose `above` is this one, without parent_shares accounts.
    std::vector<std::size_t> below;
    // The sum of their shares. Rows with parent_shares count 0.
    double level_shares = 0;
    bool is_user() const { return !row->user.empty(); }
  };
  // As the rows.
  std::vector<Node> nodes;
  // Every row, parents first.
  std::vector<std::size_t> top_down;
  // The one row without a parent.
  std::size_t root = 0;
};

// Returns the tree. It points into `rows`, which must outlive it. Errors: as fair_tree().
Result<ShareTree> build_share_tree(const std::vector<ShareRow>& rows);

}  // namespace subak

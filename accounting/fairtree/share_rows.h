// The tree that a list of ShareRow (fairtree.h) describes, from which Slurm's factors are computed.
// It skips accounts with FairShare=parent: their children belong to the next account above.
// Threads: any; pure function. Internal to fairtree.cc and classic_fair_share.cc.
#pragma once

#include <cstddef>
#include <vector>

#include "accounting/fairtree/fairtree.h"

namespace subak {

// The tree of a list of rows. The index of a row is also the index of the row's node.
struct ShareTree {
  // One row in the tree.
  struct Node {
    // The row of this node; not null.
    const ShareRow* row = nullptr;
    // The index of the nearest account above this node without FairShare=parent.
    std::size_t above = 0;
    // Rows whose `above` is this node, except accounts with parent_shares.
    std::vector<std::size_t> below;
    // The sum of the shares of the rows in `below`. Rows with parent_shares count 0.
    double level_shares = 0;
    bool is_user() const { return !row->user.empty(); }
  };
  // One node for each row, in the order of the rows.
  std::vector<Node> nodes;
  // The indexes of all rows, parents first.
  std::vector<std::size_t> top_down;
  // The index of the only row without a parent.
  std::size_t root = 0;
};

// Returns the tree. The tree points into `rows`, so `rows` must outlive the tree. Errors: those of
// fair_tree().
Result<ShareTree> build_share_tree(const std::vector<ShareRow>& rows);

}  // namespace subak

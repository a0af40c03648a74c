// The tree behind a list of ShareRow, with parents resolved. FairShare=parent accounts are passed
// through. Internal to fairtree.cc and classic_fair_share.cc.
// Threads: pure function.
#pragma once

#include <cstddef>
#include <vector>

#include "accounting/fairtree/fairtree.h"

namespace subak {

struct ShareTree {
  struct Node {
    const ShareRow* row = nullptr;
    std::size_t above = 0;  // nearest ancestor account without parent_shares
    // Rows whose `above` is this one, without parent_shares accounts.
    std::vector<std::size_t> below;
    double level_shares = 0;  // sum of their shares; parent_shares rows count 0
    bool is_user() const { return !row->user.empty(); }
  };
  std::vector<Node> nodes;            // as the rows
  std::vector<std::size_t> top_down;  // every row, parents first
  std::size_t root = 0;
};

// Returns the tree. It points into `rows`, which must outlive it. Errors: as fair_tree().
Result<ShareTree> build_share_tree(const std::vector<ShareRow>& rows);

}  // namespace subak

// Totals of capacity and use of each product in each cluster, for views, metrics and the rules of
// quotas.
// Units: milli-GPU.
// Threads: as Fleet: at a time, one thread may change it or several may read it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/must.h"
#include "core/quantity.h"

namespace subak {

// The use of one node now, or the sum of the uses of several nodes. At any instant
//     installed + overcommitted = allocated + idle + stranded + unusable  (exact; see NodeBooks)
struct NodeLevels {
  // In milli-GPU. Installed GPUs are allocated (held), idle (free and usable), stranded or
  // unusable. Stranded GPUs are in no part that pods can ask for. Unusable GPUs are free, but
  // broken or on a node that takes no pods. Holds beyond the installed GPUs are overcommitted.
  // NodeBooks (placement/fleet/fleet.h) has the exact rules.
  MilliGpu installed = 0, allocated = 0, idle = 0, stranded = 0, unusable = 0, overcommitted = 0;
  friend bool operator==(const NodeLevels&, const NodeLevels&) = default;

  // Adds `sign` times the other levels.
  void add(const NodeLevels& l, MilliGpu sign) {
    installed += sign * l.installed;
    allocated += sign * l.allocated;
    idle += sign * l.idle;
    stranded += sign * l.stranded;
    unusable += sign * l.unusable;
    overcommitted += sign * l.overcommitted;
  }
  // True if the identity above holds.
  bool close() const { return installed + overcommitted == allocated + idle + stranded + unusable; }
};

// Totals of one product in one cluster.
struct ProductTotals {
  // Together, `cluster` and `product` are the key of the row.
  ClusterId cluster;
  std::string product;
  // How many present nodes have this product.
  std::int64_t nodes = 0;
  // The sum of the levels of these nodes, and of nodes that are gone but still have holds; in
  // milli-GPU.
  NodeLevels milligpu;
};

// The totals of all products. Each row is the sum of the nodes that joined the row. A node that is
// gone but still has holds stays in its row, but `nodes` does not count the node.
class Totals {
 public:
  // Returns the number of the row, and makes the row if there is none. The number never changes and
  // is never 0.
  std::uint32_t row_of(ClusterId cluster, const std::string& product) {
    std::uint32_t& row = by_key_[{cluster, product}];
    if (row == 0) {
      row = static_cast<std::uint32_t>(rows_.size());
      rows_.push_back({cluster, product, 0, {}});
    }
    must(row > 0 && row < rows_.size(), "a product's row has a number of its own");
    return row;
  }
  // Adds `nodes`, which may be negative, to the number of nodes in the row. Row 0 is for nodes that
  // never joined a row.
  void count(std::uint32_t row, std::int64_t nodes) {
    rows_[row].nodes += nodes;
    must(rows_[row].nodes >= 0, "a product has no fewer than 0 nodes");
  }
  // Subtracts one node's former levels `was` from the row, and adds its levels `now`. Aborts if the
  // new sum breaks the identity of NodeLevels.
  void replace(std::uint32_t row, const NodeLevels& was, const NodeLevels& now) {
    NodeLevels& sum = rows_[row].milligpu;
    sum.add(was, -1);
    sum.add(now, 1);
    ++version_;
    must(sum.close(), "what a product has is allocated, idle, stranded or unusable");
  }
  // Returns a number that every replace() changes. A new row or a count() alone does not change it,
  // because each change of a node also calls replace().
  std::uint64_t version() const { return version_; }

  // Returns the sum of the product's rows in all clusters. O(rows).
  NodeLevels of(std::string_view product) const {
    NodeLevels sum;
    for (const ProductTotals& row : rows_) {
      if (row.product == product) sum.add(row.milligpu, 1);
    }
    must(sum.close(), "what a product has is allocated, idle, stranded or unusable");
    return sum;
  }

  // Returns the sum of all rows, also of those that rows() leaves out. O(rows).
  NodeLevels of_all() const {
    NodeLevels sum;
    for (const ProductTotals& row : rows_) sum.add(row.milligpu, 1);
    must(sum.close(), "what all have is allocated, idle, stranded or unusable");
    return sum;
  }

  // Returns the rows that have a product name, and nodes or allocations; by cluster, then product.
  std::vector<ProductTotals> rows() const {
    std::vector<ProductTotals> out;
    for (const auto& [key, row] : by_key_) {
      const ProductTotals& t = rows_[row];
      const bool empty = t.nodes == 0 && t.milligpu.allocated == 0;
      if (!empty && !key.second.empty()) out.push_back(t);
    }
    return out;
  }

  // `sums`: for each row, by its number, the sums computed again from the nodes. Aborts if a row
  // differs, or if the number of rows does. The names in `sums` and row 0 do not count.
  void check(const std::vector<ProductTotals>& sums) const {
    must(sums.size() == rows_.size() && by_key_.size() + 1 == rows_.size(), "each row has one key");
    for (std::size_t i = 1; i < rows_.size(); ++i) {
      must(sums[i].nodes == rows_[i].nodes, "a product has the nodes that joined it");
      must(sums[i].milligpu == rows_[i].milligpu, "a total is the sum of its nodes");
    }
  }
  // Returns a number above all row numbers.
  std::size_t size() const { return rows_.size(); }

 private:
  // The rows by number. Row 0 is for nodes that never joined a row.
  std::vector<ProductTotals> rows_{1};
  std::map<std::pair<ClusterId, std::string>, std::uint32_t> by_key_;
  std::uint64_t version_ = 1;
};

}  // namespace subak

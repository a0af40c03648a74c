// The log of changed nodes, and versions that say whether a failed search may succeed now. A search
// reads the log to find out which of its cached results are out of date. It remembers the position
// up to which it has read. Private to placement.
// Threads: as Fleet: at a time, one thread may change it or several may read it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/ids.h"
#include "core/must.h"
#include "model/node.h"
#include "placement/gpus/load.h"

namespace subak {

// The changed nodes, oldest first. Positions only rise. The log has at least the latest max(2048,
// number of nodes) entries, and drops older entries.
class ChangeLog {
 public:
  // Appends the node. `nodes` is the number of nodes of the fleet. O(1), amortised.
  void add(NodeIndex node, std::size_t nodes) {
    log_.push_back(node);
    const std::size_t keep = std::max<std::size_t>(2048, nodes);
    if (log_.size() <= 2 * keep) return;
    log_.erase(log_.begin(), log_.begin() + static_cast<std::ptrdiff_t>(keep));
    first_ += keep;
    must(log_.size() >= keep, "the log has at least the last changes of as many nodes");
  }
  // Appends a node whose description changed, and returns the position of the entry.
  std::uint64_t add_description(NodeIndex node, std::size_t nodes) {
    ++descriptions_;
    const std::uint64_t position = end();
    add(node, nodes);
    must((*this)[position] == node, "an entry has its position");
    return position;
  }

  // The log has the entries at positions begin() to end() - 1. A reader whose position is before
  // begin() must look at every node.
  std::uint64_t begin() const { return first_; }
  std::uint64_t end() const { return first_ + log_.size(); }
  NodeIndex operator[](std::uint64_t position) const { return log_[position - first_]; }
  // Returns a number that changes with every change of a node's description.
  std::uint64_t descriptions() const { return descriptions_; }

  // Aborts unless every entry is one of `nodes` nodes.
  void check(std::size_t nodes) const {
    must(first_ >= 1 && descriptions_ >= 1, "positions and versions begin at 1");
    for (const NodeIndex node : log_) must(node < nodes, "a changed node is one of the fleet");
  }

 private:
  // Entry i has the position first_ + i.
  std::vector<NodeIndex> log_;
  std::uint64_t first_ = 1;
  // Counts the changes of descriptions.
  std::uint64_t descriptions_ = 1;
};

// Counts the changes after which a request may fit that did not fit before.
class FreedVersion {
 public:
  void add() { ++all_; }
  // Counts a change that gives more room to non-GPU pods alone. This happens if a hold takes GPUs
  // but less CPU or memory than non-GPU pods had to leave free for these GPUs.
  void add_for_non_gpu() { ++non_gpu_; }
  // Returns the count, which never falls. With `non_gpu` the count includes the changes that give
  // more room to non-GPU pods alone.
  std::uint64_t get(bool non_gpu) const { return all_ + (non_gpu ? non_gpu_ : 0); }

 private:
  std::uint64_t all_ = 0, non_gpu_ = 0;
};

}  // namespace subak

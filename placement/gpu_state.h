// What is left on a node's GPUs, as far as it decides what fits there by GPUs alone: nodes that are
// equal in it are alike for every pod but for CPU, memory, labels and where they stand. Which GPU of
// a domain is which does not matter, so a fleet has few states beside its nodes. Each is kept once,
// counted, and forgotten with its last node. Private to placement.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/ids.h"
#include "placement/node.h"
#include "placement/room.h"

namespace subak {

using StateIndex = std::uint32_t;  // 0: none

struct GpuState {
  NodeSpec spec;      // of it all that says which GPUs the node has
  Room room;          // GPUs and slices; of each domain those with most free first
  MilliGpu free = 0;  // on its GPUs, without slices
  ProductId product;
  bool linked = true;  // as NodeState
  bool split = false;
  bool used = false;  // somebody holds GPUs or slices there
};

struct NodeState;

class GpuStates {
 public:
  const GpuState& operator[](StateIndex i) const { return entries_[i].state; }
  // Different for any two states that there ever were.
  std::uint64_t serial(StateIndex i) const { return entries_[i].serial; }
  std::size_t size() const { return entries_.size(); }  // all numbers are below
  std::size_t known() const { return by_content_.size(); }

  // The number of the node's state, which has one user more.
  StateIndex use(const NodeState& node);
  void drop(StateIndex i);  // one less; 0: nothing

 private:
  struct Entry {
    GpuState state;
    std::string content;
    std::uint64_t uses = 0, serial = 0;
  };
  std::vector<Entry> entries_{1};
  std::unordered_map<std::string, StateIndex> by_content_;  // looked up, never walked
  std::vector<StateIndex> unused_;
  std::uint64_t last_serial_ = 0;
  std::string scratch_;
  std::vector<std::int32_t> free_;  // scratch too
};

}  // namespace subak

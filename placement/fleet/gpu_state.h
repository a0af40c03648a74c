// The GPU state of a node: its free GPUs and slices, as far as they decide which pods fit. Nodes
// with equal GPU state are alike for every pod, except for CPU, memory, labels and topology. The
// indexes of GPUs inside a domain do not matter, so a fleet has far fewer states than nodes. The
// fleet stores each state once, counts its nodes, and drops it with its last node. A search rates a
// node of each state instead of all nodes (placement/trial/alike.h).
// Threads: as Fleet: at a time, one thread may change it or several may read it. Private to
// placement.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/ids.h"
#include "model/node.h"
#include "placement/gpus/room.h"

namespace subak {

// The number of a state in GpuStates.
using StateIndex = std::uint32_t;  // 0: none

// One GPU state.
struct GpuState {
  // A node record with only the fields that say which GPUs the node has.
  NodeSpec spec;
  // The free GPUs and slices. In each domain inside the node, the GPUs with the most free milli-GPU
  // come first.
  Room room;
  // The free milli-GPU on its GPUs, without slices.
  MilliGpu free = 0;
  ProductId product;
  // `linked` and `split` are as in NodeState.
  bool linked = true;
  bool split = false;
  // True: some GPUs or slices of the node are held.
  bool used = false;
};

struct NodeState;

// All GPU states of a fleet, by number. References are valid until the next use(), which may move
// the entries.
class GpuStates {
 public:
  const GpuState& operator[](StateIndex i) const { return entries_[i].state; }
  // Returns a number that no other state has, now or earlier.
  std::uint64_t serial(StateIndex i) const { return entries_[i].serial; }
  // Returns a number above all numbers in use.
  std::size_t size() const { return entries_.size(); }
  // Returns how many states have nodes.
  std::size_t known() const { return by_content_.size(); }
  // Returns how many states have nodes of a named RDMA fabric.
  std::size_t with_fabric() const { return with_fabric_; }

  // Returns the number of the node's state, and counts one more node that uses the state. Reads the
  // node's GPUs, slices, product and NVLink. In each domain inside the node it sorts the GPUs by
  // their free amount. So nodes whose GPUs differ only in their indexes share a state.
  StateIndex use(const NodeState& node);
  // Counts one node less that uses the state. For 0 it does nothing.
  void drop(StateIndex i);

 private:
  struct Entry {
    GpuState state;
    std::string content;
    std::uint64_t uses = 0, serial = 0;
  };
  std::vector<Entry> entries_{1};
  // The number of each state, by its content. The map serves for look-up only: no code iterates
  // over it.
  std::unordered_map<std::string, StateIndex> by_content_;
  std::vector<StateIndex> unused_;
  std::uint64_t last_serial_ = 0;
  std::size_t with_fabric_ = 0;
  std::string scratch_;
  std::vector<std::int32_t> free_;  // scratch memory too
};

}  // namespace subak

// The pods of one gang that are placed on trial, while a search looks for a placement: their slots,
// and the room that they leave on their nodes. The fleet does not change.
// Threads: as the GangAttempt that owns the object. Private to placement.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/must.h"
#include "placement/fleet/scene.h"
#include "placement/trial/pod_rules.h"
#include "placement/trial/run.h"

namespace subak {

// The *rooms* (free resources) of the nodes that a gang touches, with its pods of the trial placed.
// The gang *touches* a node when the trial first places one of its pods there. The object is as
// large as the fleet, so a Search reuses one object. It serves one trial at a time.
class TrialRooms {
 public:
  // Begins a trial. The previous trial must have ended. `nodes` is the number of nodes of the
  // fleet.
  void begin(std::size_t nodes) {
    must(count_ == 0, "one trial at a time");
    if (at_.size() < nodes) at_.resize(nodes);
  }
  // Drops all copies. O(touched nodes).
  void end() {
    for (std::size_t i = 0; i < count_; ++i) at_[rooms_[i].node] = 0;
    count_ = 0;
  }
  // touched() is the number of touched nodes. touched_node() is the k-th of these nodes, in the
  // order in which the gang first touched them.
  std::size_t touched() const { return count_; }
  NodeIndex touched_node(std::size_t k) const { return rooms_[k].node; }
  // True if the node is one of the first `touched` touched nodes.
  bool among_first(NodeIndex i, std::size_t touched) const {
    return at_[i] != 0 && at_[i] <= touched;
  }
  // The node's copy; nullptr if the gang has not touched the node.
  const Room* find(NodeIndex i) const { return at_[i] == 0 ? nullptr : &rooms_[at_[i] - 1].room; }
  // Returns the node's copy. If the gang has not touched the node yet, the function makes the copy
  // from `room`. The reference is valid until the next node is touched.
  Room& fill(NodeIndex i, const Room& room) {
    must(i < at_.size(), "a node on trial is of the fleet");
    std::uint32_t& at = at_[i];
    if (at == 0) {
      if (count_ == rooms_.size()) rooms_.emplace_back();
      rooms_[count_].node = i;
      rooms_[count_].room = room;
      at = static_cast<std::uint32_t>(++count_);
    }
    return rooms_[at - 1].room;
  }

 private:
  struct Filled {
    // The node, and the room that the gang leaves on it.
    NodeIndex node = 0;
    Room room;
  };
  // The first count_ entries belong to this trial. The other entries exist so that later trials
  // reuse their memory.
  std::vector<Filled> rooms_;
  std::size_t count_ = 0;
  // For each node, its index in rooms_ plus 1. 0: the node is not touched.
  std::vector<std::uint32_t> at_;
};

// The pods of one gang that have a slot so far, in the order in which the search placed them. A
// trial reads the snapshot and writes only its own copies of rooms.
//
// Invariant: the room of a node is its room in the snapshot, less the resources of the gang's pods
// on trial there. A rank that is not on trial has the empty slot. So undo_to() restores the rooms
// as they were. A node whose pods were all removed still counts as touched.
class Trial {
 public:
  // `rooms`, the scene and `rules` must outlive the trial. `pods` is the number of pods of the
  // gang. The trial tells `rules` of each pod that it places or removes.
  Trial(TrialRooms& rooms, const Scene& scene, std::uint32_t pods, PodRules& rules);
  // Drops the pods on trial. The fleet never knows of these pods.
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // The room that the gang leaves on the node.
  const Room& room(NodeIndex i) const {
    const Room* tried = rooms_.find(i);
    return tried != nullptr ? *tried : scene_.room(i);
  }
  // The nodes that the gang has touched, even if it no longer has a pod there. See TrialRooms.
  const TrialRooms& nodes() const { return rooms_; }

  // Places all pods of the run on GPUs of `allowed` on the node, as choose() decides. If not all
  // fit, it returns false and places none. None of the pods may be on trial yet. The function
  // checks only what is free, not whether the gang may use the node.
  bool place(const Run& run, NodeIndex i, GpuMask allowed, const Ignore& ignore);
  // mark() returns how many pods are on trial. undo_to() removes the pods that were placed after
  // the mark, the last pod first. The argument may not be greater than mark(). O(removed pods).
  std::size_t mark() const { return placed_.size(); }
  void undo_to(std::size_t mark);

  // The slots, by rank. A pod that is not on trial has an empty slot, without a node. The reference
  // is valid until the trial changes.
  const std::vector<PodSlot>& slots() const { return slots_; }
  // Returns the slots of the complete gang. All its pods must be on trial. The call ends the trial.
  std::vector<PodSlot> take_slots();
  // True if non-GPU pods on trial leave the CPU and memory free that Fleet::gpu_headroom() asks
  // for.
  bool leaves_headroom(const Ignore& ignore) const;

  // Exchanges the slots of equal pods, all on trial, so that where(node) ascends by rank. Which pod
  // of several equal pods has which slot does not matter for the search, but it matters for the
  // traffic between the pods.
  template <class F>
  void sort_slots(const Run& run, F&& where) {
    must(run.rank + run.count <= slots_.size(), "a run is inside its gang");
    const auto first = slots_.begin() + static_cast<std::ptrdiff_t>(run.rank);
    const auto last = first + static_cast<std::ptrdiff_t>(run.count);
    const auto before = [&](const PodSlot& a, const PodSlot& b) {
      return a.node != b.node && where(a.node.value) < where(b.node.value);
    };
    if (!std::is_sorted(first, last, before)) std::stable_sort(first, last, before);
  }
  // Exchanges the slots of segments of `size` pods each. The k-th segment gets the slots of the
  // segment whose first rank is order[k]. All pods must be on trial, the gang must have one shape
  // and equal segments, and each segment must be in `order` once.
  void reorder_segments(std::uint32_t size, const std::vector<std::uint32_t>& order);

 private:
  // A pod on trial. Its slot has the node.
  struct Placed {
    const Pods* pods = nullptr;
    std::uint32_t rank = 0;
  };

  TrialRooms& rooms_;
  const Scene& scene_;
  PodRules& rules_;
  // The slots, by rank.
  std::vector<PodSlot> slots_;
  // The pods in the order in which they were placed.
  std::vector<Placed> placed_;
};

}  // namespace subak

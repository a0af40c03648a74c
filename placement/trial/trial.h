// The pods of one gang that are placed on trial: which slots they have, and what they leave free on
// their nodes. Private to placement.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/must.h"
#include "placement/fleet/scene.h"
#include "placement/trial/run.h"

namespace subak {

// Copies of the rooms of those nodes that a gang touches: what it leaves free there. It is as long
// as the fleet, so a Search keeps it from one trial to the next. One trial at a time.
class TrialRooms {
 public:
  // Requires that the last trial has ended. `nodes`: of the fleet.
  void begin(std::size_t nodes) {
    must(count_ == 0, "one trial at a time");
    if (at_.size() < nodes) at_.resize(nodes);
  }
  // Drops all copies. O(touched).
  void end() {
    for (std::size_t i = 0; i < count_; ++i) at_[rooms_[i].node] = 0;
    count_ = 0;
  }
  // How many nodes were touched, and which, in the order in which they were first touched.
  std::size_t touched() const { return count_; }
  NodeIndex touched_node(std::size_t k) const { return rooms_[k].node; }
  // True if the node is one of the first so many.
  bool among_first(NodeIndex i, std::size_t touched) const {
    return at_[i] != 0 && at_[i] <= touched;
  }
  // The node's copy; nullptr if the gang has not touched the node.
  const Room* find(NodeIndex i) const { return at_[i] == 0 ? nullptr : &rooms_[at_[i] - 1].room; }
  // The same; begins it as a copy of `room` if the gang has not touched the node. Valid until the
  // next node is touched.
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
    // The node, with what the gang leaves free on it.
    NodeIndex node = 0;
    Room room;
  };
  // The first count_ are of this trial. The rest keeps its memory for the next one.
  std::vector<Filled> rooms_;
  std::size_t count_ = 0;
  // By node: its index in rooms_ plus 1. 0: not touched.
  std::vector<std::uint32_t> at_;
};

// The pods of one gang that have a slot so far, in the order in which they came. A trial is a
// draft: it reads the snapshot and writes only its own copies of rooms.
//
// Invariant: each pod on trial is consumed in its node's room, once. Every other rank has the empty
// slot. So undo_to() brings back what was free before, and a node that was touched stays known.
class Trial {
 public:
  // `rooms` and the scene outlive the trial. `pods`: of the gang.
  Trial(TrialRooms& rooms, const Scene& scene, std::uint32_t pods);
  // Drops what is on trial. The fleet was never told of it.
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // What the gang leaves free on the node.
  const Room& room(NodeIndex i) const {
    const Room* tried = rooms_.find(i);
    return tried != nullptr ? *tried : scene_.room(i);
  }
  // The nodes that the gang has touched, also if it has no pod there any more. See TrialRooms.
  const TrialRooms& nodes() const { return rooms_; }

  // Places all pods of the run on GPUs of `allowed`, on the node, as choose() says; or none.
  // Requires that none of them is on trial yet. It asks only what is free, not whether the gang may
  // use the node.
  bool place(const Run& run, NodeIndex i, GpuMask allowed, const Ignore& ignore);
  // How many pods are on trial. undo_to() takes back those placed later than a mark, the last one
  // first, and requires a mark that is not behind the last pod. O(pods taken back).
  std::size_t mark() const { return placed_.size(); }
  void undo_to(std::size_t mark);

  // By rank. A pod that is not on trial has an empty slot: without a node. Valid until the trial
  // changes.
  const std::vector<PodSlot>& slots() const { return slots_; }
  // Returns the slots of the complete gang. Requires that all its pods are on trial; ends the
  // trial.
  std::vector<PodSlot> take_slots();
  // True if no non-GPU pod takes resources that stay reserved beside free GPUs (Fleet::headroom).
  bool leaves_headroom(const Ignore& ignore) const;

  // Exchanges the slots of equal pods, all on trial, so that where(node) ascends by rank. Which of
  // equal pods has which slot does not matter to the search. It matters to what the pods send.
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
  // Gives the slots of the segments, of `size` pods each, to the segments in this order: the k-th
  // gets those of the segment that began with rank order[k]. Requires equal segments of a gang of
  // one shape, all on trial, each named once.
  void reorder_segments(std::uint32_t size, const std::vector<std::uint32_t>& order);

 private:
  // A pod on trial. Its slot has the node.
  struct Placed {
    const Pods* pods = nullptr;
    std::uint32_t rank = 0;
  };

  TrialRooms& rooms_;
  const Scene& scene_;
  // By rank.
  std::vector<PodSlot> slots_;
  // In the order of placing.
  std::vector<Placed> placed_;
};

}  // namespace subak

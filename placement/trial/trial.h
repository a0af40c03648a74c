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

// Copies of the rooms of those nodes that a gang touches. It is as long as the fleet, so a Search
// keeps it from one trial to the next. One trial at a time.
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
    NodeIndex node = 0;
    Room room;
  };
  std::vector<Filled> rooms_;  // the first count_; the rest keeps its memory for the next trial
  std::size_t count_ = 0;
  std::vector<std::uint32_t> at_;  // by node, index + 1; 0 = none
};

// Invariant: each pod on trial is consumed in its node's room, once. Every other rank has the empty
// slot. So undo_to() brings back what was free before, and a node that was touched stays known.
class Trial {
 public:
  // `rooms` and the scene outlive the trial. `pods`: of the gang.
  Trial(TrialRooms& rooms, const Scene& scene, std::uint32_t pods);
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
  // How many pods are on trial. undo_to() takes back those placed later than a mark.
  std::size_t mark() const { return placed_.size(); }
  void undo_to(std::size_t mark);

  // By rank. Empty for a pod that is not on trial.
  const std::vector<PodSlot>& slots() const { return slots_; }
  // Returns the slots of the complete gang. Requires that all its pods are on trial; ends the trial.
  std::vector<PodSlot> take_slots();
  // True if no non-GPU pod takes resources that stay reserved beside free GPUs (Fleet::headroom).
  bool leaves_headroom(const Ignore& ignore) const;

  // Exchanges the slots of equal pods, all on trial, so that where(node) ascends by rank.
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
  // The same for equal segments of `size` pods, by the node of their first pod. Requires a gang of
  // one shape, all on trial, in complete segments.
  template <class F>
  void sort_segments(std::uint32_t size, F&& where) {
    must(size > 0 && slots_.size() % size == 0, "segments of one size are sorted");
    must(placed_.size() == slots_.size(), "a complete gang is sorted");
    std::vector<std::uint32_t> order;
    for (std::uint32_t first = 0; first < slots_.size(); first += size) order.push_back(first);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return where(slots_[a].node.value) < where(slots_[b].node.value);
    });
    std::vector<PodSlot> sorted;
    sorted.reserve(slots_.size());
    for (const std::uint32_t first : order) {
      const auto from = slots_.begin() + first;
      sorted.insert(sorted.end(), from, from + size);
    }
    slots_ = std::move(sorted);
  }

 private:
  struct Placed {
    const Pods* pods = nullptr;
    std::uint32_t rank = 0;
  };

  TrialRooms& rooms_;
  const Scene& scene_;
  std::vector<PodSlot> slots_;
  std::vector<Placed> placed_;  // in the order of placing
};

}  // namespace subak

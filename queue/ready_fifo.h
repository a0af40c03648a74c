// Iterates over all waiting jobs by submit time and id, lazily: it reads the kinds' heaps in order
// without popping. Private to queue.
#pragma once

#include <cstdint>
#include <vector>

#include "queue/ready_index.h"

namespace subak::ready {

// It merges the heaps of all kinds: `front_` has every place whose parent in its heap was passed.
// So a job costs O(log n), and later jobs cost nothing.
class Fifo {
 public:
  // Begins at the oldest job of all. The index is borrowed; tombstones at the top of its heaps go.
  void begin(Index& index);
  // Returns the oldest job for which `skip(slot)` is false and whose kind is not `closed(kind)`;
  // kNoSlot if none. It returns the job again until the job leaves the queue or is skipped. A job
  // that was skipped, and a kind that was closed, do not come again: both must stay so for the
  // pass. Starts over, from the oldest job, when a heap was changed.
  template <class Skip, class Closed>
  std::uint32_t next(Skip skip, Closed closed) {
    if (version_ != index_->heap_version()) restart();
    while (!front_.empty()) {
      const Place top = front_.front();
      if (closed(top.kind)) {
        pop();
        continue;
      }
      const std::uint32_t slot = slot_of(top);
      if (index_->jobs()[slot].live && !skip(slot)) return slot;
      pop();
      push({top.kind, 2 * top.at + 1});
      push({top.kind, 2 * top.at + 2});
    }
    return kNoSlot;
  }

 private:
  // One job, by its position.
  struct Place {
    // The number of the kind.
    std::uint32_t kind = 0;
    // The position in the kind's heap.
    std::uint32_t at = 0;
  };
  // Begins again with the top of each kind's heap.
  void restart();
  std::uint32_t slot_of(Place place) const { return index_->kind(place.kind).by_age[place.at]; }
  // True if the job of `a` comes after that of `b`, so that the heap has the oldest on top.
  bool later(Place a, Place b) const { return index_->older(slot_of(b), slot_of(a)); }
  void push(Place place);
  void pop();

  Index* index_ = nullptr;
  // Index::heap_version() when front_ was made.
  std::uint64_t version_ = 0;
  // A heap, the oldest job on top.
  std::vector<Place> front_;
};

}  // namespace subak::ready

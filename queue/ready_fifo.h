// Iterates over all waiting jobs by submit time and id, for the policy fifo, which ignores
// accounts. Each kind (a request shape with waiting jobs) has a heap of its jobs by age
// (Kind::by_age). The iteration reads only the parts of the heaps that it needs.
// Threads: one at a time; each Walk owns one object. Private to queue.
#pragma once

#include <cstdint>
#include <vector>

#include "queue/ready_index.h"

namespace subak::ready {

// Merges the heaps of all kinds. A job costs O(log n), and jobs that the iteration does not reach
// cost nothing.
class Fifo {
 public:
  // Begins at the oldest job of all. The index must outlive the pass. begin() drops tombstones from
  // the top of the index's heaps.
  void begin(Index& index);
  // Returns the oldest job for which `skip(slot)` and `closed(kind)` are false; kNoSlot if there is
  // none. The function returns the same job again until the job leaves the queue or is skipped. A
  // skipped job must stay skipped, and a closed kind must stay closed, for the rest of the pass.
  // When a heap has changed, the search begins again with the oldest job.
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
  // One job, named by its position in the heap of its kind.
  struct Place {
    // The number of the kind.
    std::uint32_t kind = 0;
    // The position in the kind's heap.
    std::uint32_t at = 0;
  };
  // Begins again at the top of each kind's heap.
  void restart();
  std::uint32_t slot_of(Place place) const { return index_->kind(place.kind).by_age[place.at]; }
  // True if the job of `a` comes after the job of `b`, so that the heap has the oldest job on top.
  bool later(Place a, Place b) const { return index_->older(slot_of(b), slot_of(a)); }
  void push(Place place);
  void pop();

  Index* index_ = nullptr;
  // The value of Index::heap_version() when front_ was made.
  std::uint64_t version_ = 0;
  // The positions that the iteration may visit next, as a heap with the oldest job on top. The
  // parent of each position in its kind's heap was already visited.
  std::vector<Place> front_;
};

}  // namespace subak::ready

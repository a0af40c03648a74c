// The queued jobs: dense slots, found by id. A slot also has the links of its job class (a line,
// queue/line.h). Private to queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/flat_index.h"
#include "core/ids.h"
#include "core/must.h"
#include "core/quantity.h"

namespace subak::ready {

// Stands for no slot: the end of a line, or a job that is not there.
inline constexpr std::uint32_t kNoSlot = FlatIndex::kNone;

// One job, in 40 bytes. `left` and `right` are the subtrees of the slot in its line; only line.cc
// changes them.
struct Slot {
  JobId id;
  // Since when the job waits.
  TimeMs submit_ms = 0;
  // Higher comes first in the line.
  std::int32_t priority = 0;
  // With `kind` it names the line of the job.
  AccountId leaf;
  std::uint32_t kind = 0;
  std::uint32_t left = kNoSlot;
  std::uint32_t right = kNoSlot;
  // False: a tombstone, or free.
  bool live = false;
};

// Slot numbers are dense and reused. A number stays with its job until free(), so a heap may still
// name a job that has left. No decision depends on a number.
// Memory: 40 bytes a slot, and the id index. It never shrinks.
class JobTable {
 public:
  // Returns the live slot of this job; kNoSlot if it does not wait. O(1).
  std::uint32_t find(JobId id) const;
  // Adds a copy as a live slot and returns its number. The id must be new (asserted).
  std::uint32_t insert(const Slot& slot);
  // Drops the id. The slot stays as a tombstone, readable, until free().
  void erase(std::uint32_t slot);
  // Lets a tombstone be used again.
  void free(std::uint32_t slot) {
    must(!slots_[slot].live, "a waiting job keeps its slot");
    free_.push_back(slot);
    must(size() + free_.size() <= slots(), "a slot is live, a tombstone or free");
  }
  // The slot must be in use. References are valid until the next insert().
  Slot& operator[](std::uint32_t slot) { return slots_[slot]; }
  const Slot& operator[](std::uint32_t slot) const { return slots_[slot]; }
  // Prefetches a slot that is about to be read; the slots take megabytes.
  void prefetch(std::uint32_t slot) const { __builtin_prefetch(&slots_[slot]); }
  // Returns the number of live slots.
  std::size_t size() const { return index_.size(); }
  // All numbers in use are below this.
  std::size_t slots() const { return slots_.size(); }

 private:
  // By number.
  std::vector<Slot> slots_;
  // Numbers that insert() may use again.
  std::vector<std::uint32_t> free_;
  // From the id to the number of live slots.
  FlatIndex index_;
};

}  // namespace subak::ready

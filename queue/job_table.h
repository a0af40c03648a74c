// The table of waiting jobs of a ReadyQueue (queue/ready.h). Each job has a slot, which the table
// finds by job id. A slot also has the job's links in the search tree of its *line*: the jobs of
// one account with the same request shape (queue/line.h).
// Threads: one at a time; ready::Index owns the table. Private to queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/flat_index.h"
#include "core/ids.h"
#include "core/must.h"
#include "core/quantity.h"

namespace subak::ready {

// The number that means no slot: at the end of a line, or for a job that is not in the table.
inline constexpr std::uint32_t kNoSlot = FlatIndex::kNone;

// One job, in 40 bytes. `left` and `right` are the slot's subtrees in the tree of its line; only
// line.cc changes them.
struct Slot {
  JobId id;
  // The time since which the job waits.
  TimeMs submit_ms = 0;
  // A job with a higher priority comes first in the line.
  std::int32_t priority = 0;
  // Together, `leaf` and `kind` identify the line of the job.
  AccountId leaf;
  std::uint32_t kind = 0;
  std::uint32_t left = kNoSlot;
  std::uint32_t right = kNoSlot;
  // False: the slot is free, or a tombstone (erased, but not yet free).
  bool live = false;
};

// All slots. Slot numbers are dense and reused. A number belongs to its job until free(). So a heap
// of slots (Kind::by_age) may still have the number of a job that has left. No decision depends on
// a number. Memory: 40 bytes for each slot, plus the id index. The memory never shrinks.
class JobTable {
 public:
  // Returns the live slot of this job; kNoSlot if the job does not wait. O(1).
  std::uint32_t find(JobId id) const;
  // Adds a copy of `slot` as a live slot, and returns its number. The job's id must be new
  // (asserted).
  std::uint32_t insert(const Slot& slot);
  // Drops the job's id from the index. The slot must be live (asserted). It stays readable, as a
  // tombstone, until free().
  void erase(std::uint32_t slot);
  // Frees a tombstone, so that insert() may use the slot again.
  void free(std::uint32_t slot) {
    must(!slots_[slot].live, "a waiting job keeps its slot");
    free_.push_back(slot);
    must(size() + free_.size() <= slots(), "a slot is live, a tombstone or free");
  }
  // Returns the slot with this number. The slot must be in use. References are valid until the next
  // insert().
  Slot& operator[](std::uint32_t slot) { return slots_[slot]; }
  const Slot& operator[](std::uint32_t slot) const { return slots_[slot]; }
  // Prefetches a slot before it is read. All slots together take megabytes, so most slots are not
  // in the CPU's caches.
  void prefetch(std::uint32_t slot) const { __builtin_prefetch(&slots_[slot]); }
  // Returns the number of live slots.
  std::size_t size() const { return index_.size(); }
  // Returns a number above all slot numbers.
  std::size_t slots() const { return slots_.size(); }

 private:
  // All slots, by number.
  std::vector<Slot> slots_;
  // The numbers of free slots. insert() uses these numbers again.
  std::vector<std::uint32_t> free_;
  // Finds the number of a live slot by its job's id.
  FlatIndex index_;
};

}  // namespace subak::ready

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

inline constexpr std::uint32_t kNoSlot = FlatIndex::kNone;

// 40 bytes. `left` and `right` are the subtrees of the slot in its line.
struct Slot {
  JobId id;
  TimeMs submit_ms = 0;
  std::int32_t priority = 0;
  AccountId leaf;
  std::uint32_t kind = 0;
  std::uint32_t left = kNoSlot;
  std::uint32_t right = kNoSlot;
  bool live = false;  // false: a tombstone, or free
};

class JobTable {
 public:
  std::uint32_t find(JobId id) const;  // kNoSlot if unknown
  // Adds a copy as a live slot and returns its number. The id must be new (asserted).
  std::uint32_t insert(const Slot& slot);
  // Drops the id. The slot stays as a tombstone, readable, until free().
  void erase(std::uint32_t slot);
  // Lets a tombstone be used again.
  void free(std::uint32_t slot) {
    must(!slots_[slot].live, "a waiting job keeps its slot");
    free_.push_back(slot);
  }
  Slot& operator[](std::uint32_t slot) { return slots_[slot]; }
  const Slot& operator[](std::uint32_t slot) const { return slots_[slot]; }
  // Prefetches a slot that is about to be read; the slots take megabytes.
  void prefetch(std::uint32_t slot) const { __builtin_prefetch(&slots_[slot]); }
  std::size_t size() const { return index_.size(); }   // live slots
  std::size_t slots() const { return slots_.size(); }  // all numbers in use are below this

 private:
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  FlatIndex index_;
};

}  // namespace subak::ready

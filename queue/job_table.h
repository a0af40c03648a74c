// The queued jobs themselves: dense slots, found by id. A slot also carries the links of its line
// (queue/line.h). Private to queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/flat_index.h"
#include "core/ids.h"
#include "core/quantity.h"

namespace subak::ready {

inline constexpr std::uint32_t kNoSlot = FlatIndex::kNone;

// 40 bytes. `left` and `right` are its subtrees in its line.
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
  // A copy becomes live; the number of its slot. Its id is new (asserted).
  std::uint32_t insert(const Slot& slot);
  // Forgets the id. The slot stays as a tombstone, readable, until free().
  void erase(std::uint32_t slot);
  void free(std::uint32_t slot) { free_.push_back(slot); }
  Slot& operator[](std::uint32_t slot) { return slots_[slot]; }
  const Slot& operator[](std::uint32_t slot) const { return slots_[slot]; }
  // Asks for the memory of a slot that is about to be read; there are megabytes of them.
  void prefetch(std::uint32_t slot) const { __builtin_prefetch(&slots_[slot]); }
  std::size_t size() const { return index_.size(); }   // live ones
  std::size_t slots() const { return slots_.size(); }  // numbers in use are below it

 private:
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  FlatIndex index_;
};

}  // namespace subak::ready

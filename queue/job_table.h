// The queued jobs themselves: dense slots, found by id through an open-addressing table that is
// used for look-up only. A slot also carries the links of its line (queue/line.h). Private to
// queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"

namespace subak::ready {

inline constexpr std::uint32_t kNoSlot = 0xffff'ffff;

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
  std::uint32_t insert(const Slot& slot);
  // Forgets the id. The slot stays as a tombstone, readable, until free().
  void erase(std::uint32_t slot);
  void free(std::uint32_t slot) { free_.push_back(slot); }
  Slot& operator[](std::uint32_t slot) { return slots_[slot]; }
  const Slot& operator[](std::uint32_t slot) const { return slots_[slot]; }
  std::size_t size() const { return size_; }
  std::size_t slots() const { return slots_.size(); }

 private:
  std::size_t place_of(JobId id) const;  // in table_, or its length
  void put(std::uint32_t slot);
  void rehash();
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  // Cells: 8 bits of the hash above 24 bits of the slot, so that a wrong slot is rarely looked at.
  // A power of two long, at most 3/4 of it in use.
  std::vector<std::uint32_t> table_;
  std::size_t used_ = 0;  // cells that are not empty, markers of erased ones included
  std::size_t size_ = 0;
};

}  // namespace subak::ready

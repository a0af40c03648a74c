#include "queue/job_table.h"

#include <cassert>

namespace subak::ready {
namespace {

constexpr std::size_t kFirstTable = 64;

std::uint64_t mix(std::uint64_t x) {  // the finalizer of splitmix64 (Steele et al., OOPSLA 2014)
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

std::size_t JobTable::home(JobId id) const {
  return static_cast<std::size_t>(mix(id.value)) & (table_.size() - 1);
}

std::uint32_t JobTable::find(JobId id) const {
  if (table_.empty()) return kNoSlot;
  for (std::size_t i = home(id);; i = (i + 1) & (table_.size() - 1)) {
    const std::uint32_t slot = table_[i];
    if (slot == kNoSlot || slots_[slot].id == id) return slot;
  }
}

std::uint32_t JobTable::insert(const Slot& slot) {
  assert(slot.id && find(slot.id) == kNoSlot);
  if ((size_ + 1) * 4 > table_.size() * 3) grow();
  std::uint32_t at = 0;
  if (free_.empty()) {
    at = static_cast<std::uint32_t>(slots_.size());
    slots_.push_back(slot);
  } else {
    at = free_.back();
    free_.pop_back();
    slots_[at] = slot;
  }
  slots_[at].live = true;
  std::size_t i = home(slot.id);
  while (table_[i] != kNoSlot) i = (i + 1) & (table_.size() - 1);
  table_[i] = at;
  ++size_;
  return at;
}

void JobTable::erase(std::uint32_t slot) {
  const std::size_t mask = table_.size() - 1;
  std::size_t hole = home(slots_[slot].id);
  while (table_[hole] != slot) hole = (hole + 1) & mask;
  // Close the gap: move back what could not stand at its home because of it.
  for (std::size_t i = (hole + 1) & mask; table_[i] != kNoSlot; i = (i + 1) & mask) {
    const std::size_t want = home(slots_[table_[i]].id);
    if (((i - want) & mask) < ((i - hole) & mask)) continue;
    table_[hole] = table_[i];
    hole = i;
  }
  table_[hole] = kNoSlot;
  slots_[slot].live = false;
  --size_;
}

void JobTable::grow() {
  std::vector<std::uint32_t> old(table_.empty() ? kFirstTable : table_.size() * 2, kNoSlot);
  old.swap(table_);
  for (const std::uint32_t slot : old) {
    if (slot == kNoSlot) continue;
    std::size_t i = home(slots_[slot].id);
    while (table_[i] != kNoSlot) i = (i + 1) & (table_.size() - 1);
    table_[i] = slot;
  }
}

}  // namespace subak::ready

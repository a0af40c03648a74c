#include "queue/job_table.h"

#include <cassert>

namespace subak::ready {
namespace {

constexpr std::size_t kFirstTable = 64;
constexpr std::uint32_t kSlotBits = 24;
constexpr std::uint32_t kSlotMask = (1u << kSlotBits) - 1;
constexpr std::uint32_t kEmpty = 0xffff'ffff;
constexpr std::uint32_t kErased = 0xffff'fffe;
constexpr std::uint32_t kMaxSlots = kSlotMask - 1;  // so that no cell looks like one of these

std::uint64_t mix(std::uint64_t x) {  // the finalizer of splitmix64 (Steele et al., OOPSLA 2014)
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::uint32_t cell_bits(std::uint64_t hash) {
  return static_cast<std::uint32_t>(hash >> 32) & ~kSlotMask;
}

}  // namespace

std::size_t JobTable::place_of(JobId id) const {
  if (table_.empty()) return 0;
  const std::uint64_t hash = mix(id.value);
  const std::size_t mask = table_.size() - 1;
  for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
    const std::uint32_t cell = table_[i];
    if (cell == kEmpty) return table_.size();
    if (cell == kErased || (cell & ~kSlotMask) != cell_bits(hash)) continue;
    if (slots_[cell & kSlotMask].id == id) return i;
  }
}

std::uint32_t JobTable::find(JobId id) const {
  const std::size_t place = place_of(id);
  return place == table_.size() ? kNoSlot : table_[place] & kSlotMask;
}

std::uint32_t JobTable::insert(const Slot& slot) {
  assert(slot.id && find(slot.id) == kNoSlot);
  if ((used_ + 1) * 4 > table_.size() * 3) rehash();
  std::uint32_t at = 0;
  if (free_.empty()) {
    at = static_cast<std::uint32_t>(slots_.size());
    assert(at < kMaxSlots);
    slots_.push_back(slot);
  } else {
    at = free_.back();
    free_.pop_back();
    slots_[at] = slot;
  }
  slots_[at].live = true;
  put(at);
  ++size_;
  return at;
}

void JobTable::put(std::uint32_t slot) {
  const std::uint64_t hash = mix(slots_[slot].id.value);
  const std::size_t mask = table_.size() - 1;
  std::size_t i = hash & mask;
  while (table_[i] != kEmpty && table_[i] != kErased) i = (i + 1) & mask;
  if (table_[i] == kEmpty) ++used_;
  table_[i] = cell_bits(hash) | slot;
}

void JobTable::erase(std::uint32_t slot) {
  const std::size_t place = place_of(slots_[slot].id);
  assert(place != table_.size());
  const bool last = table_[(place + 1) & (table_.size() - 1)] == kEmpty;
  table_[place] = last ? kEmpty : kErased;
  if (last) --used_;
  slots_[slot].live = false;
  --size_;
}

void JobTable::rehash() {
  std::size_t length = table_.empty() ? kFirstTable : table_.size();
  if ((size_ + 1) * 8 > length * 3) length *= 2;  // else only markers go
  std::vector<std::uint32_t> old(length, kEmpty);
  old.swap(table_);
  used_ = 0;
  for (const std::uint32_t cell : old) {
    if (cell != kEmpty && cell != kErased) put(cell & kSlotMask);
  }
}

}  // namespace subak::ready

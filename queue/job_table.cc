#include "queue/job_table.h"

#include <cassert>

#include "core/must.h"

namespace subak::ready {

std::uint32_t JobTable::find(JobId id) const {
  return index_.find(mix_bits(id.value), [&](std::uint32_t slot) { return slots_[slot].id == id; });
}

std::uint32_t JobTable::insert(const Slot& slot) {
  assert(slot.id && find(slot.id) == kNoSlot);
  std::uint32_t at = 0;
  if (free_.empty()) {
    at = static_cast<std::uint32_t>(slots_.size());
    slots_.push_back(slot);
  } else {
    at = free_.back();
    free_.pop_back();
    must(!slots_[at].live, "only a free slot is used again");
    slots_[at] = slot;
  }
  slots_[at].live = true;
  index_.insert(mix_bits(slot.id.value), at,
                [&](std::uint32_t other) { return mix_bits(slots_[other].id.value); });
  must(size() + free_.size() <= slots(), "a slot is live, a tombstone or free");
  return at;
}

void JobTable::erase(std::uint32_t slot) {
  must(slots_[slot].live, "a job leaves once");
  index_.erase(mix_bits(slots_[slot].id.value), slot);
  slots_[slot].live = false;
}

}  // namespace subak::ready

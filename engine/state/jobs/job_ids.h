// The ids of all jobs in order, so that the cost of a page of jobs depends on its size alone. Ids
// come nearly in order. New ones stay unsorted at the end until the next read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/ids.h"

namespace subak {

// Threads: none; owned by the engine.
class JobIds {
 public:
  // `id` is new.
  void add(JobId id) { ids_.push_back(id); }
  // The ids, ascending. A removed job stays in for a while: look each one up.
  const std::vector<JobId>& ascending() const {
    if (sorted_ == ids_.size()) return ids_;
    const auto middle = ids_.begin() + static_cast<std::ptrdiff_t>(sorted_);
    std::sort(middle, ids_.end());
    std::inplace_merge(ids_.begin(), middle, ids_.end());
    sorted_ = ids_.size();
    return ids_;
  }
  // Drops removed ids. `live` is the number of jobs left, and `is_live` tells which they are. Cheap
  // unless half of the ids are removed.
  template <class IsLive>
  void trim(std::size_t live, IsLive is_live) {
    if (ids_.size() <= 2 * live + kSlack) return;
    ascending();
    std::erase_if(ids_, [&](JobId id) { return !is_live(id); });
    sorted_ = ids_.size();
  }

 private:
  static constexpr std::size_t kSlack = 64;
  mutable std::vector<JobId> ids_;
  mutable std::size_t sorted_ = 0;  // so many at the front are in order
};

}  // namespace subak

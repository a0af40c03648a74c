// Snapshots of the queue (`QueueSnapshot`): the order of the whole queue at one instant, and a copy
// from which any thread can compute it.
//
// The position of one job depends on the whole order, since allocation grows with each earlier job.
// So a thread beside the engine computes the order, and readers use the snapshot
// (docs/design/0025).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"

namespace subak {

class QueueCopy;
class State;
namespace derive {
void copy_queue(const State& s, QueueCopy& into);
}

// The snapshot of the order. It is immutable, and takes 12 bytes for each job.
// Threads: any.
class QueueSnapshot {
 public:
  // Makes the snapshot of an empty queue, before the first fact.
  QueueSnapshot() = default;
  // `seq` and `time_ms` are the last fact that the order includes and its time. `order` has each
  // job once. O(n log n).
  QueueSnapshot(std::uint64_t seq, TimeMs time_ms, std::vector<JobId> order);

  // The last fact that the order includes.
  std::uint64_t seq() const { return seq_; }
  // The time of that fact. The order is that of this time.
  TimeMs time_ms() const { return time_ms_; }
  // The jobs in order, the next job first, as a pass would take them if all fitted.
  const std::vector<JobId>& order() const { return order_; }
  // The position of a job, from 1. 0: the job did not wait at that time. O(log n).
  std::size_t position(JobId id) const;

 private:
  std::uint64_t seq_ = 0;
  TimeMs time_ms_ = 0;
  std::vector<JobId> order_;
  // Indexes into order_, sorted by job id, for position().
  std::vector<std::uint32_t> places_;
};

// The inputs of the order at one instant: job classes, account tree and policy. It is an
// independent copy: the engine continues while another thread computes the order. To copy into the
// same object again reuses its memory. To free many small pieces at once would slow down later
// allocations.
// Threads: one at a time.
class QueueCopy {
 public:
  // Makes an empty copy; Engine::copy_queue() fills it.
  QueueCopy();
  QueueCopy(QueueCopy&&) noexcept;
  QueueCopy& operator=(QueueCopy&&) noexcept;
  ~QueueCopy();
  // Computes the snapshot. O(n log n) in the waiting jobs. The copy must be filled. Any thread may
  // call it, if no other thread uses the copy.
  QueueSnapshot make() const;

 private:
  friend void derive::copy_queue(const State& s, QueueCopy& into);
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace subak

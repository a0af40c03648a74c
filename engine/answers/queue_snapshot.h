// Snapshots of the queue (`QueueSnapshot`): the order of the whole queue at one instant, and a copy
// from which any thread can compute it.
//
// The position of one job needs the whole order, since allocation grows with each earlier job. So a
// thread beside the engine computes the order, and readers use the snapshot (docs/design/0025).
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

// The snapshot of the order. Immutable. 12 bytes a job. Threads: any.
class QueueSnapshot {
 public:
  // An empty queue, before the first fact.
  QueueSnapshot() = default;
  // `seq` and `time_ms`: the last fact that it includes and its time. `order`: each job once. O(n
  // log n).
  QueueSnapshot(std::uint64_t seq, TimeMs time_ms, std::vector<JobId> order);

  // The last fact that the order includes.
  std::uint64_t seq() const { return seq_; }
  // The time of that fact: the order is as of then.
  TimeMs time_ms() const { return time_ms_; }
  // The jobs in order, the next job first, as a pass would take them if all fitted.
  const std::vector<JobId>& order() const { return order_; }
  // The position of a job, from 1. 0: the job did not wait then. O(log n).
  std::size_t position(JobId id) const;

 private:
  std::uint64_t seq_ = 0;
  TimeMs time_ms_ = 0;
  std::vector<JobId> order_;
  // Indexes into order_, sorted by job id, for position().
  std::vector<std::uint32_t> places_;
};

// The inputs of the order at one instant: job classes, account tree and policy. It is an
// independent copy: the engine goes on while another thread computes the order. Copying into the
// same object again reuses its memory. Many small pieces, freed together, would slow down the next
// allocations. Threads: one at a time.
class QueueCopy {
 public:
  // An empty copy; Engine::copy_queue() fills it.
  QueueCopy();
  QueueCopy(QueueCopy&&) noexcept;
  QueueCopy& operator=(QueueCopy&&) noexcept;
  ~QueueCopy();
  // Computes the snapshot. O(n log n) in the waiting jobs. Requires a filled copy.
  // Any thread may call it, while no other uses the copy.
  QueueSnapshot make() const;

 private:
  friend void derive::copy_queue(const State& s, QueueCopy& into);
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace subak

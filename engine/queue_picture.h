// The order of the whole queue at one instant, and the copy from which it can be made on any
// thread.
//
// Knowing one job's place takes the whole order: allocation grows with each job that comes before
// it. So the order is made beside the engine and looked at as a picture (docs/design/0025).
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

// Immutable. 12 bytes a job. Threads: any.
class QueuePicture {
 public:
  // Nothing waits, before the first fact.
  QueuePicture() = default;
  // `order`: each job once.
  QueuePicture(std::uint64_t seq, TimeMs time_ms, std::vector<JobId> order);

  std::uint64_t seq() const { return seq_; }  // the last fact that is in it
  TimeMs time_ms() const { return time_ms_; }
  // The next job first, as a pass would take them if all fitted.
  const std::vector<JobId>& order() const { return order_; }
  // From 1; 0: the job did not wait then. O(log n).
  std::size_t position(JobId id) const;

 private:
  std::uint64_t seq_ = 0;
  TimeMs time_ms_ = 0;
  std::vector<JobId> order_;
  std::vector<std::uint32_t> places_;  // places in order_, by job id
};

// What the order follows from at one instant: the lines, the account tree, the rule. A value of its
// own: the engine goes on while another thread makes the order. Copied into again and again it
// keeps its memory: as many small pieces, given back, would slow down whoever asks for memory next.
// Threads: one at a time.
class QueueCopy {
 public:
  QueueCopy();  // of nothing yet: engine.h, copy_queue()
  QueueCopy(QueueCopy&&) noexcept;
  QueueCopy& operator=(QueueCopy&&) noexcept;
  ~QueueCopy();
  // O(n log n) in what waits. Something was copied into it.
  QueuePicture make() const;

 private:
  friend void derive::copy_queue(const State& s, QueueCopy& into);
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace subak

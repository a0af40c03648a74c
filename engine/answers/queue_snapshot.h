// Snapshots of the queue (`QueueSnapshot`): the order of the complete queue at one instant. A
// `QueueCopy` has the inputs of the order, so that any thread can compute a snapshot.
//
// A job's position depends on the GPUs that the jobs before it would take. So even the position of
// one job requires the order of all jobs before it. A thread other than the engine's computes the
// order, and readers use the snapshot (docs/design/0025).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"

namespace subak {

class QueueCopy;
class State;
struct Policy;
namespace derive {
void copy_queue(const State& s, QueueCopy& into);
}

// Rules and shares for a hypothetical order of the queue. Everything else is as in the present
// state.
struct OrderAsIf {
  // The policy whose order rule counts. nullptr: the policy in force.
  const Policy* policy = nullptr;
  // Existing accounts with hypothetical shares, which also count for past usage.
  std::vector<std::pair<AccountId, std::int64_t>> shares;
};

// The queued jobs of workloads that have several queued jobs. A workload is the Kubernetes object
// whose pods are several jobs, such as a Deployment. The jobs of one workload and one account are a
// group.
struct QueueGroups {
  // The jobs, group by group.
  std::vector<JobId> jobs;
  // For each group, the index in `jobs` after its last job.
  std::vector<std::size_t> ends;
};

// The order of the queue at one instant. A snapshot is immutable. It takes 12 bytes for each job,
// and 8 more for each job of QueueGroups.
// Threads: any.
class QueueSnapshot {
 public:
  // Makes the snapshot of an empty queue, as before the first fact.
  QueueSnapshot() = default;
  // `seq` is the last fact that the order includes, and `time_ms` is the time of this fact. `order`
  // has each waiting job once. O(n log n).
  QueueSnapshot(std::uint64_t seq, TimeMs time_ms, std::vector<JobId> order,
                const QueueGroups& groups = {});

  // The last fact that the order includes.
  std::uint64_t seq() const { return seq_; }
  // The time of the fact seq(). The order is the order of the queue at this time.
  TimeMs time_ms() const { return time_ms_; }
  // The jobs in the order in which a pass would take them if every job fitted. The next job is
  // first.
  const std::vector<JobId>& order() const { return order_; }
  // The position of a job in the order, from 1. 0: the job did not wait at time_ms(). O(log n).
  std::size_t position(JobId id) const;
  // Returns the index in order() of the nearest earlier job in the group of the job at index `at`.
  // nullopt: there is none. O(log n).
  std::optional<std::size_t> sibling_before(std::size_t at) const;

 private:
  std::uint64_t seq_ = 0;
  TimeMs time_ms_ = 0;
  std::vector<JobId> order_;
  // Indexes into order_, sorted by job id, for position().
  std::vector<std::uint32_t> places_;
  // Of each job that has a sibling_before(): its index in order_, and the index of that sibling.
  // Ascending.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> siblings_;
};

// The inputs of the order at one instant: the waiting jobs of each account by shape, the account
// tree and the policy. The copy is independent, so the engine continues while another thread
// computes the order. Reuse one object for all copies, because a new copy then reuses its memory.
// Freeing the object would fragment the heap and slow down later allocations.
// Threads: one at a time.
class QueueCopy {
 public:
  // Makes an empty copy; Engine::copy_queue() fills it.
  QueueCopy();
  QueueCopy(QueueCopy&&) noexcept;
  QueueCopy& operator=(QueueCopy&&) noexcept;
  ~QueueCopy();
  // Computes the snapshot. O(n log n) for n waiting jobs. The copy must be filled. Any thread may
  // call make() if no other thread uses the copy.
  QueueSnapshot make() const;

 private:
  friend void derive::copy_queue(const State& s, QueueCopy& into);
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace subak

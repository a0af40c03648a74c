// The oracle's view of limits besides GPUs: on jobs, waiting jobs, time limits and GPU-minutes in
// flight, of accounts and of each user. All sums are over lists of jobs. Threads: none.
#pragma once

#include <cstdint>
#include <string>

#include "accounting/limits/job_limits.h"
#include "tests/oracle/oracle.h"

namespace subak::sim {

class OracleLimits {
 public:
  explicit OracleLimits(const Oracle& oracle) : o_(oracle) {}

  // Returns the limit that stops the job from starting with these GPUs by product; "": none.
  std::string stops(const Oracle::Job& j, const ProductAmounts& gpus) const;
  // True if another job that waits is beyond a limit on GPU-minutes. A pass then skips jobs of its
  // size or larger ones, even if they would take fewer GPU-minutes.
  bool waits_behind_minutes(const Oracle::Job& j) const;
  // True if an account accepts no further waiting job of this account or user.
  bool is_full(AccountId leaf) const;
  // True if an account of the path limits its waiting jobs, or those of each user.
  bool limit_waiting(AccountId leaf) const;

 private:
  template <class F>
  bool each(AccountId leaf, F fn) const;
  // The jobs that hold or claim GPUs.
  std::int64_t jobs_at(AccountId id) const;
  // The GPU time until the planned ends.
  GpuTime in_flight(AccountId id) const;
  // The time that the job is expected to take, if it starts now. 0: not known.
  DurationMs planned(const Oracle::Job& j) const;
  bool allow_minutes(const Oracle::Job& j, MilliGpu gpus) const;

  const Oracle& o_;
};

}  // namespace subak::sim

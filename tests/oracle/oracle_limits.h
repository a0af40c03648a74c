// The oracle's rules (tests/oracle/oracle.h) about limits other than GPUs: on running jobs, waiting
// jobs, time limits and GPU-minutes in flight, of accounts and of each user. Each figure is a sum
// over a list of jobs. Threads: one at a time.
#pragma once

#include <cstdint>
#include <string>

#include "accounting/limits/job_limits.h"
#include "tests/oracle/oracle.h"

namespace subak::sim {

class OracleLimits {
 public:
  explicit OracleLimits(const Oracle& oracle) : o_(oracle) {}

  // Returns a text about the limit that does not allow the job to start with these GPUs; empty: all
  // limits allow it.
  std::string stops(const Oracle::Job& j, const ProductAmounts& gpus) const;
  // True if a limit on GPU-minutes stops another waiting job that is not larger than `j`. A pass
  // then skips `j` too, even if `j` would take fewer GPU-minutes.
  bool waits_behind_minutes(const Oracle::Job& j) const;
  // True if an account accepts no further waiting job of this account or user.
  bool is_full(AccountId leaf) const;
  // True if an account of the path limits its waiting jobs, or those of each user.
  bool limit_waiting(AccountId leaf) const;
  // True if the node stays free until a gang has finished (docs/design/0127).
  bool is_free_for_gang(NodeId node) const;
  // Checks that no job starts on such a node, except a job with reserved nodes.
  static void judge_gang_nodes(Oracle& oracle, const fact::AttemptStarted& f);

 private:
  template <class F>
  bool each(AccountId leaf, F fn) const;
  // Returns the number of jobs at or below the account that hold or claim GPUs.
  std::int64_t jobs_at(AccountId id) const;
  // Returns the GPU time that these jobs may take until their planned ends.
  GpuTime in_flight(AccountId id) const;
  // Returns how long the job is expected to run if it starts now. 0: not known.
  DurationMs planned(const Oracle::Job& j) const;
  bool allow_minutes(const Oracle::Job& j, MilliGpu gpus) const;

  const Oracle& o_;
};

}  // namespace subak::sim

// Limits of an account besides its GPUs: on the number of its jobs, on their time limits, and on
// the GPU time that its running jobs may still take. The same limits exist for each user of an
// account, together with a limit on the user's GPUs.
//
// People write these limits as a list: "jobs=20,queued=500,time=2d,gpu-minutes=6000". For each user
// the list may name GPUs too: "gpu=8,jobs=4". Facts and the API have the same texts.
//
// Units: milli-GPU, ms, and whole GPU-minutes.
// Errors: kInvalid with the given `field`.
// Threads: any; pure functions, plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/account_limits.h"
#include "core/error.h"
#include "core/quantity.h"

namespace subak {

// The limits on the jobs of an account. nullopt: there is no such limit.
struct JobLimits {
  // "jobs": the most jobs that may hold GPUs at once.
  std::optional<std::int64_t> jobs;
  // "queued": the most jobs that may wait at once. The account accepts no further job.
  std::optional<std::int64_t> queued;
  // "time": the longest time limit of a job. A job without a time limit is over this limit.
  std::optional<DurationMs> time_ms;
  // "gpu-minutes": the most GPU-minutes in flight (JobSums::in_flight).
  std::optional<std::int64_t> gpu_minutes;

  // True if there is a limit.
  bool any() const { return jobs || queued || time_ms || gpu_minutes; }
  friend bool operator==(const JobLimits&, const JobLimits&) = default;
};

// The limits for each user of an account.
struct UserLimits {
  // The most GPUs that one user may hold at once, by product. Empty: no limit.
  ProductAmounts gpus;
  JobLimits jobs;
};

// Returns the GPU time of whole GPU-minutes.
inline GpuTime gpu_minutes(std::int64_t minutes) {
  return GpuTime::of(kMilliPerGpu, kMinuteMs * minutes);
}
// Returns the GPU-minutes of an amount that is not negative, rounded up.
std::int64_t whole_gpu_minutes(GpuTime amount);

// True if the name is one of the limits of JobLimits, and no GPU product.
bool is_job_limit(std::string_view name);
// Reads a list of limits on jobs. The empty text has no limits.
Result<JobLimits> parse_job_limits(std::string_view text, std::string_view field);
// Returns the text that parse_job_limits() reads, with the limits in the order of their names.
std::string job_limits_text(const JobLimits& limits);
// Reads a list of limits for each user: amounts of GPUs and limits on jobs.
Result<UserLimits> parse_user_limits(std::string_view text, std::string_view field);
// Returns the text that parse_user_limits() reads: GPUs first.
std::string user_limits_text(const UserLimits& limits);

// Sums over the jobs at or below an account that hold GPUs now, for the limits on jobs.
struct JobSums {
  // The number of jobs.
  std::int64_t jobs = 0;
  // The sums over all GPUs whose job has a planned end: their milli-GPU, and milli-GPU x end.
  MilliGpu rate = 0;
  GpuTime ends;

  // Returns the GPU time in flight: the GPU time from `now` to the planned ends of the jobs. The
  // planned end of a job follows from its time limit. A job without a planned end counts nothing.
  GpuTime in_flight(TimeMs now) const { return ends - GpuTime::of(rate, now); }
  JobSums& operator+=(const JobSums& o) {
    jobs += o.jobs;
    rate += o.rate;
    ends += o.ends;
    return *this;
  }
  JobSums operator-() const { return {-jobs, -rate, GpuTime() - ends}; }
  friend bool operator==(const JobSums&, const JobSums&) = default;
};

}  // namespace subak

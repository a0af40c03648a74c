// The results of a simulation, by the definitions of the manual (docs: `subak sim`):
//   demand         integral of queued + running GPUs of an account
//   received       integral of running GPUs
//   entitled       the account's fair part of the total received: first its quota, then max-min by
//                  shares, but never more than its demand (sim/report/entitlement.h)
//   jain           mean over windows of Jain's index of received / entitled, over accounts with
//                  demand
//   reserved_idle  integral of the free GPUs on nodes that were reserved for jobs (patience)
//   kept_beside    an upper bound of the part of reserved_idle that other waiting jobs could have
//                  used. It counts the GPUs of waiting jobs without reserved nodes. At each
//                  instant, a job larger than the free GPUs on reserved nodes counts 0.
//   max_deviation  the largest |received - entitled| / (capacity x window) of any account in any
//                  window
//   wait           the time that a job is queued: until its first start, and after each preemption
//   within quota   a property of a job that the workload sets, so it is the same under each policy
//                  (SimJob::within_quota)
//   lost           the run time that preempted jobs repeat, and the time that they take to end
//   warm job       a job that already ran at A. It is not in the statistics
//                  of jobs, but its GPUs count.
// A is the start of the simulated period, and B is its end. Windows are whole hours, days and weeks
// from A on. A window that does not end by B is left out. If there is no complete window, there is
// no figure. The figures of waits, sizes and slowdown cover jobs that were submitted in [A, B). The
// replay goes on after B until the jobs that are queued at B have run, but no new job comes.
// Threads: any; pure functions and plain values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/read/workload.h"
#include "sim/report/eta_result.h"
#include "sim/report/timeline.h"

namespace subak::sim {

// The distribution of one figure over jobs.
struct Spread {
  // The number of jobs in the distribution.
  std::size_t jobs = 0;
  // All figures are 0 if there are no jobs. Percentiles use the nearest rank.
  double mean = 0, p50 = 0, p90 = 0, p99 = 0;
};
// Computes the distribution. O(n log n).
Spread spread(std::vector<double> values);

// The classes of job size, by GPUs: "1", "2-4", "5-8", "9-16", "17-64", "65+".
inline constexpr std::array<const char*, 6> kSizeClasses{"1", "2-4", "5-8", "9-16", "17-64", "65+"};
// Returns the index in kSizeClasses. A job of a part of a GPU is in the first class.
std::size_t size_class(MilliGpu milligpu);

// A figure for the windows of an hour, a day and a week. nullopt: [A, B) has no complete window of
// this length.
struct ByWindow {
  std::optional<double> hour, day, week;
};

// The figures of one team.
struct TeamResult {
  std::string team;
  // The team's shares, as in the workload.
  std::int64_t shares = 0;
  MilliGpu quota = 0;
  // The number of the team's jobs in the statistics.
  std::size_t jobs = 0;
  // The team's demand, received and entitled GPU-hours over [A, B). `entitled_gpu_h` treats [A, B)
  // as one window.
  double demand_gpu_h = 0, received_gpu_h = 0, entitled_gpu_h = 0;
  // The mean wait of the team's jobs that started, in seconds.
  double wait_mean_s = 0;
};

// The figures about quotas and preemptions. The preemptions of all jobs count: those of warm jobs
// too, and those after B.
struct QuotaResult {
  // The waits of jobs within quota, and of all other jobs.
  Spread within_s, beyond_s;
  // The GPU-hours over [A, B) of waiting jobs for which their team's quota had room
  // (sim/report/quota.h).
  double queued_within_gpu_h = 0;
  // The number of preemptions, the number of jobs that were preempted, and the most preemptions of
  // one job.
  std::size_t preemptions = 0, preempted_jobs = 0, most_of_one_job = 0;
  // `lost_gpu_h`: the GPU-hours that preempted jobs lost. `lost_part`: these GPU-hours divided by
  // all GPU-hours that jobs held in the replay; 0 if jobs held none. If a warm job is preempted, it
  // may also lose GPU-hours from before A, which do not count as held.
  double lost_gpu_h = 0, lost_part = 0;
};

// The figures reserved_idle and kept_beside of the definitions above, in GPU-hours over [A, B).
struct ReservedIdleResult {
  double gpu_h = 0, beside_gpu_h = 0;
};

// The figures of one policy on one workload.
struct SimResult {
  // The name of the order policy.
  std::string policy;
  // `jobs`: how many jobs were submitted in [A, B). `finished`: how many of them ran to their
  // end. `unplaceable`: how many of them the empty fleet could not hold. `unplaceable` also counts
  // every job that the engine refused at its submission.
  std::size_t jobs = 0, finished = 0, unplaceable = 0;
  // The number of warm jobs, which already ran at A. `jobs` does not count them.
  std::size_t warm = 0;
  // The waits of the jobs, in seconds.
  Spread wait_s;
  std::array<Spread, kSizeClasses.size()> wait_by_size;
  // The bounded slowdown of Feitelson and others: max(1, (wait + run + lost) / max(run, 10 s)).
  Spread bounded_slowdown;
  // The received GPU time as a part of the capacity over [A, B).
  double utilisation = 0;
  // The figures jain and max_deviation of the definitions above.
  ByWindow jain, max_deviation;
  // The time mean of the fragmentation (sim/report/fragmentation.h).
  double fragmentation = 0;
  // The waits within and beyond quota, and the preemptions. nullopt: no team has a quota.
  std::optional<QuotaResult> quota;
  // The quality of start estimates. nullopt: no job got a start estimate.
  std::optional<EtaResult> eta;
  ReservedIdleResult reserved_idle;
  // `wall_s`: the real duration of the replay in seconds. `sim_speedup`: the simulated seconds for
  // each real second.
  double wall_s = 0, sim_speedup = 0;
  // The teams, in the order of the workload.
  std::vector<TeamResult> teams;
  // For plots: the mean GPUs in each hour, by [team][hour].
  std::vector<std::vector<double>> received_by_hour, entitled_by_hour, queued_by_hour;
  // The waits of the jobs that started, in seconds, sorted.
  std::vector<double> waits_s;
};

// The times of one job in the replay. If `start_ms` is negative, the job never started.
struct JobFate {
  // The job's first start, and the end of its last attempt.
  TimeMs start_ms = -1;
  TimeMs end_ms = -1;
  // The time that the job was queued after its preemptions, and the run time that it lost by
  // preemptions.
  DurationMs again_ms = 0, lost_ms = 0;
  // The time that the job held its GPUs, over all attempts.
  DurationMs held_ms = 0;
  // The number of the job's preemptions.
  std::uint32_t preemptions = 0;
};

// Computes the figures that follow from the workload, the timeline and the fates of its jobs. The
// caller sets all other figures. `fates` has one entry for each job of the workload.
SimResult make_result(const Workload& workload, const Timeline& timeline,
                      const std::vector<JobFate>& fates);

}  // namespace subak::sim

// Adds up how busy the held GPUs were (activity), by job, and by account, product, state and hour.
// The observer (observer.h), a thread of the leader, calls add() after each query of the Prometheus
// server, and writes the sums to the store from time to time. A process loads them when it starts
// or takes the lead. The time between the last write and the load counts as not observed. Threads:
// any thread may call any member.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "server/activity/holders.h"
#include "server/codec/activity.h"
#include "server/runtime/ports.h"
#include "threads/mutex.h"

namespace subak {

// A job whose GPUs have all been idle (below 1 % activity) for long.
struct IdleJob {
  JobId job;
  // The time since which the GPUs have been idle.
  TimeMs since_ms = 0;
  MilliGpu milligpu = 0;
  // The uid of one pod of the job.
  std::string pod_uid;
};

// The figures of one account and product for metrics. The sums begin at the start of the process.
struct AccountActivity {
  ActivitySums sums;
  // The held time without a valid value, in milli-GPU x ms.
  std::int64_t unknown = 0;
  // The GPUs by their class at the last observation, in milli-GPU.
  MilliGpu idle_now = 0, low_now = 0, active_now = 0, unknown_now = 0;
};

// Figures for metrics, `status` and alerts.
struct ActivityFigures {
  // False: no Prometheus server is configured.
  bool configured = false;
  // By the leaf of the account tree (an account or a user) and the product.
  std::map<std::pair<AccountId, std::string>, AccountActivity> accounts;
  std::vector<UnheldGpu> unheld;
  // The numbers of reads that succeeded and failed since the start of the process.
  std::uint64_t reads = 0, failed_reads = 0;
  // The time of the last successful read; 0: none.
  TimeMs read_ms = 0;
  // Why the last read failed; empty: it succeeded.
  std::string error;
  // The numbers of series, of values out of range, and of devices on unknown nodes, in the last
  // successful read.
  std::size_t series = 0, invalid = 0, unknown_nodes = 0;
};

// The sums of activity in memory, and which of them have changed since the last write.
class ActivityBook {
 public:
  // Replaces the sums by those in the store. If the store cannot be read, returns the error, and
  // the sums in memory stay. If there are none in memory, the book takes the sums that were read
  // before the error. Call it when this process begins to lead, and from time to time on a standby.
  std::optional<Error> load(Store& store, TimeMs now) SUBAK_EXCLUDES(mutex_);
  // Writes the sums of jobs and of the days that changed since the last write.
  std::optional<Error> write(Store& store) SUBAK_EXCLUDES(mutex_);

  // Adds the time from the last call until `now` (ms) to the sums of the pods that hold GPUs now.
  // If no time has passed, it adds nothing. `samples`: the values of this time; nullptr: there are
  // none, so the time is not observed. A value covers at most limits::kActivityCoversMs before
  // `now`. add() also finds busy GPUs that no pod holds. The first call after load() finds no such
  // GPUs, since it does not know which pods ended just before. Returns the jobs that have been idle
  // for at least `warn_after` (ms) and not warned; they then count as warned. If `warn_after` is 0,
  // it returns no job.
  std::vector<IdleJob> add(const HeldGpus& held, const ActivitySamples* samples, TimeMs now,
                           DurationMs warn_after) SUBAK_EXCLUDES(mutex_);
  // Records that a read failed.
  void failed(const Error& error) SUBAK_EXCLUDES(mutex_);
  void set_configured() SUBAK_EXCLUDES(mutex_);

  // Returns the sums of a job; nullopt: the book has none.
  std::optional<JobActivity> job(JobId id) const SUBAK_EXCLUDES(mutex_);
  // Returns the sums of a UTC day that the book has; nullopt: the store may have the day.
  std::optional<ActivityDay> day(std::int64_t day) const SUBAK_EXCLUDES(mutex_);
  // Returns the jobs of the cluster whose GPUs are all idle for limits::kIdleShownMs, or for
  // `warn_after` of the last add() if that is shorter. The jobs with the most GPUs come first.
  std::vector<IdleJob> idle_jobs(ClusterId cluster) const SUBAK_EXCLUDES(mutex_);
  ActivityFigures figures() const SUBAK_EXCLUDES(mutex_);

 private:
  // Hour, payer, state, product.
  using HourKey = std::tuple<std::uint32_t, AccountId, UsageState, std::string>;
  using Hours = std::map<HourKey, ActivitySums>;
  // The state of a job in one observation.
  struct JobNow {
    MilliGpu milligpu = 0;
    // The numbers of idle and of other devices. `complete`: all devices of the job are among them.
    std::uint32_t idle = 0, busy = 0;
    bool complete = true;
    // The start of the time that the observation covers.
    TimeMs from_ms = 0;
    std::string pod_uid;
  };

  // Returns the record of a UTC day with these sums.
  static ActivityDay record_of(std::int64_t day, const Hours& hours);
  // Adds the time of one pod from the last observation until `now`. If `seen` has no devices, the
  // time is not observed.
  void add_pod(const OpenUsage& pod, const PodActivity& seen, TimeMs now, JobNow& job)
      SUBAK_REQUIRES(mutex_);
  // Finds the idle jobs, and returns those to warn.
  std::vector<IdleJob> note_idle(const std::map<JobId, JobNow>& jobs, TimeMs now,
                                 DurationMs warn_after) SUBAK_REQUIRES(mutex_);
  // Drops old records of ended jobs.
  void forget_ended(TimeMs now) SUBAK_REQUIRES(mutex_);
  // Sets the present figures to 0.
  void clear_present() SUBAK_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::map<JobId, JobActivity> jobs_ SUBAK_GUARDED_BY(mutex_);
  // By day: only the days that were loaded or have changed since.
  std::map<std::int64_t, Hours> days_ SUBAK_GUARDED_BY(mutex_);
  std::set<std::int64_t> changed_ SUBAK_GUARDED_BY(mutex_);
  // The last observation; 0: none.
  TimeMs until_ms_ SUBAK_GUARDED_BY(mutex_) = 0;
  // The holders at the last observation; nullopt: there was none since the start or load().
  std::optional<LastHolders> last_ SUBAK_GUARDED_BY(mutex_);
  // The jobs that idle_jobs() returns, as of the last observation.
  std::vector<IdleJob> idle_ SUBAK_GUARDED_BY(mutex_);
  ActivityFigures figures_ SUBAK_GUARDED_BY(mutex_);
};

}  // namespace subak

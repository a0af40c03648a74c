// Computes the figures of a replay (SimResult) while the driver runs it (sim/driver.h).
// Threads: one at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "sim/driver.h"
#include "sim/report/eta.h"
#include "sim/report/fragmentation.h"
#include "sim/report/quota.h"
#include "sim/report/stats.h"
#include "sim/report/timeline.h"
#include "sim/reserved_idle.h"

namespace subak::sim {

// An observer of one replay, or of the steps of a history.
class Measures : public Observer {
 public:
  // The arguments must outlive the object. `kept`, `eta`: nullptr leaves these figures out.
  explicit Measures(const Workload& workload, ReservedIdle* kept = nullptr,
                    EtaJudge* eta = nullptr);

  void submitted(std::uint32_t job, JobId id, TimeMs t) override;
  void started(std::uint32_t job, TimeMs t, const std::vector<EffectPod>& pods) override;
  void preempted(std::uint32_t job, JobId id, TimeMs t, DurationMs lost_ms) override;
  void ended(std::uint32_t job, TimeMs t) override;
  void cancelled(std::uint32_t job, TimeMs t) override;
  void settled(TimeMs t) override;

  // Returns the real time, in seconds, that the start estimates of `eta` took.
  double telling_s() const { return std::chrono::duration<double>(telling_).count(); }
  // Returns the fate of each job of the workload.
  const std::vector<JobFate>& fates() const { return fates_; }
  // Returns the figures that follow from the workload and the steps. Call it once, at the end.
  SimResult result();

 private:
  // The job holds nothing from `t` on.
  void release(std::uint32_t job, TimeMs t);
  // Counts the pods as taken (`sign` +1) or free (-1).
  void take(const std::vector<EffectPod>& pods, MilliGpu sign, TimeMs t);

  const Workload& workload_;
  ReservedIdle* kept_;
  EtaJudge* eta_;
  std::chrono::steady_clock::duration telling_{};
  Timeline timeline_;
  Fragmentation fragmentation_;
  std::vector<JobFate> fates_;
  // By job: the last start or end of an attempt.
  std::vector<TimeMs> since_;
  QueuedWithinQuota within_quota_;
  // The pods of running jobs, by job.
  std::vector<std::vector<EffectPod>> pods_;
};

}  // namespace subak::sim

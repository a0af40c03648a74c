// Replays a workload through a port. The order of inputs is part of the contract, because all
// implementations of a port must make the same facts:
//
//   set-up   at A: cluster "sim" in enforce, its nodes, the policy, one account per team below
//            the root
//   warm     the jobs that ran at A, oldest first; after the submission of each job comes a pass
//   then     for each distinct time t at which a job ends, a job is submitted or a deadline comes:
//              1. a tick, if a deadline has come
//              2. the ends at t, in the order in which their jobs were submitted, each rank by rank
//              3. the submissions at t, in the order of the trace
//              4. a pass; then for each open_gate in turn: pod_bound for every rank, pod_running
//                 for every rank. If there was an open_gate, step 4 comes again
//   end      when no job runs and no more jobs are submitted.
//
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "core/error.h"
#include "sim/port.h"
#include "sim/read/workload.h"

namespace subak::sim {

// The only cluster of a simulation.
inline constexpr char kClusterName[] = "sim";

// Receives every step as it happens. `job` is an index into Workload::jobs.
class Observer {
 public:
  virtual ~Observer() = default;
  // The job was submitted: the engine gave it this id, and the job waits.
  virtual void submitted(std::uint32_t job, JobId id, TimeMs t) = 0;
  // All pods of the job run, on the nodes that `pods` name.
  virtual void started(std::uint32_t job, TimeMs t, const std::vector<EffectPod>& pods) = 0;
  // All pods of the job have ended.
  virtual void ended(std::uint32_t job, TimeMs t) = 0;
  // No further job starts at this time.
  virtual void settled(TimeMs /*t*/) {}
};

// Replays one workload once. The driver is deterministic: for the same workload and policy it sends
// the same inputs.
class Driver {
 public:
  // Workload, port and observer must outlive the driver.
  Driver(const Workload& workload, Port& port, Observer& observer);
  // Sends the set-up. Errors: the errors of the port.
  std::optional<Error> set_up(const Policy& policy);
  // Runs to the end. From time to time it calls `progress`, unless that is empty, with the part of
  // jobs that have ended.
  void run(const std::function<void(double)>& progress = nullptr);

  // The time of the present step, or of the last one.
  TimeMs now() const { return now_; }
  // The number of jobs that have run to their end, including the warm jobs.
  std::size_t finished() const { return finished_; }
  // The number of jobs that the port refused although the fleet could hold them.
  std::size_t refused() const { return refused_; }

 private:
  // The state of a job. A job that the port refused, or that the fleet cannot hold, also has the
  // state kDone.
  enum class State : std::uint8_t { kNew, kQueued, kRunning, kDone };
  // The driver's record of a job of the workload.
  struct Live {
    // The id that the engine gave; none before the submission.
    JobId id;
    State state = State::kNew;
  };
  // The end of a running job, and the job's index.
  using End = std::pair<TimeMs, std::uint32_t>;
  // Submits one job, unless the fleet cannot hold it.
  void submit(std::uint32_t job);
  // Does step 4, until no more jobs start.
  void settle();
  // Binds and starts the pods of an open_gate effect. A repeated effect does nothing.
  void start(const Effect& effect);
  // Ends all pods of the job, rank by rank.
  void end(std::uint32_t job);
  // Does the step "warm".
  void submit_warm();
  const Workload& workload_;
  Port& port_;
  Observer& observer_;
  // The records by the job's index in the workload.
  std::vector<Live> live_;
  // The index of the job of each JobId::sequence().
  std::vector<std::uint32_t> by_sequence_;
  // The ends of the running jobs, the earliest first.
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  // The index of the next job to submit.
  std::uint32_t next_ = 0;
  TimeMs now_ = 0;
  std::size_t finished_ = 0, refused_ = 0;
};

}  // namespace subak::sim

// Replays a workload (sim/read/workload.h) through a port: an engine or a service (sim/port.h). The
// order of inputs is fixed, because all ports must make the same facts:
//
//   set-up   at the start of the window: cluster "sim" in enforce, its nodes, the policy, one
//            account per team below the root
//   warm     the jobs that ran then, oldest first; after the submission of each job comes step 4
//   then     for each distinct time t at which a job ends, a job is submitted or a deadline comes:
//              1. ticks, until no deadline is left at or before t
//              2. the ends at t, in the order in which their jobs were submitted, each job
//                 rank by rank. A preempted job ends with that cause, and waits again.
//              3. the edits at t, then the submissions at t, in the order of the workload
//              4. a pass; then for each open_gate in turn: pod_bound for every rank, pod_running
//                 for every rank. If the pass had an effect, step 4 comes again.
//                 An evict of a preempted job sets the job's end to the time after its grace.
//   end      the replay ends when no job runs, and no more jobs and edits come.
//
// For the history of a store, the engine has a state before the replay. Then there is no set-up,
// and the driver takes over the known jobs of the workload in place of the step "warm".
//
// A job that loses its node in the replay waits again, and starts from zero. A job that Subak asks
// to end for good ends after its grace at the latest.
//
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/error.h"
#include "sim/port.h"
#include "sim/read/workload.h"

namespace subak::sim {

// Says how much run time a preempted job loses, and how long its pods stay.
struct VictimModel {
  // The time from the evict until all pods are gone. The job makes no progress in this time.
  DurationMs grace_ms = 30 * kSecondMs;
  // A job saves its progress each time that it has run for this long. A new attempt continues from
  // the last saved progress. 0: a job saves nothing, and each attempt starts from zero.
  DurationMs checkpoint_ms = 0;
};

// Receives every step as it happens. `job` is an index into Workload::jobs.
class Observer {
 public:
  virtual ~Observer() = default;
  // The job was submitted: the engine gave the job this id, and the job waits.
  virtual void submitted(std::uint32_t job, JobId id, TimeMs t) = 0;
  // All pods of the job run, on the nodes that `pods` name. The driver calls started() again after
  // each preemption.
  virtual void started(std::uint32_t job, TimeMs t, const std::vector<EffectPod>& pods) = 0;
  // All pods of the job have ended.
  virtual void ended(std::uint32_t job, TimeMs t) = 0;
  // The job was cancelled while it waited.
  virtual void cancelled(std::uint32_t /*job*/, TimeMs /*t*/) {}
  // All pods of the preempted job have ended, and the job waits again under its id. `lost_ms` is
  // the run time that the job has to repeat, plus its grace.
  virtual void preempted(std::uint32_t /*job*/, JobId /*id*/, TimeMs /*t*/,
                         DurationMs /*lost_ms*/) {}
  // The step is complete: no further job starts at the time `t`.
  virtual void settled(TimeMs /*t*/) {}
};

// Replays one workload once. The driver is deterministic: for the same workload and policy it sends
// the same inputs.
class Driver {
 public:
  // Workload, port and observer must outlive the driver.
  Driver(const Workload& workload, Port& port, Observer& observer, VictimModel victims = {});
  // Sends the set-up. Errors: the errors of the port.
  std::optional<Error> set_up(const Policy& policy);
  // Runs to the end. From time to time, the driver calls `progress` with the part of jobs that have
  // ended. `progress` may be empty. If it returns false, the driver stops there, and so does this
  // function with false.
  bool run(const std::function<bool(double)>& progress = nullptr);

  // The time of the present step, or of the last step.
  TimeMs now() const { return now_; }
  // The number of jobs that have run to their end, including the warm jobs.
  std::size_t finished() const { return finished_; }
  // The number of jobs that the port refused although the fleet could hold them.
  std::size_t refused() const { return refused_; }
  // The number of edits that the port refused, and the first of these refusals.
  std::size_t refused_edits() const { return refused_edits_; }
  const std::optional<Error>& first_refusal() const { return first_refusal_; }

 private:
  // The state of a job. A job that the port refused, or that the fleet cannot hold, also has the
  // state kDone.
  enum class State : std::uint8_t { kNew, kQueued, kRunning, kEnding, kDone };
  // The driver's record of a job of the workload.
  struct Live {
    // The id that the engine gave; none before the submission.
    JobId id;
    State state = State::kNew;
    // The saved progress with which the present attempt began, or with which the next attempt
    // begins.
    DurationMs progress_ms = 0;
    // The start of the present attempt, and the time of its evict.
    TimeMs started_ms = 0, asked_ms = 0;
    // In the state kEnding: why the job was asked to end.
    Cause asked = Cause::kNone;
    // When the present attempt ends.
    TimeMs end_ms = kNoEnd;
  };
  static constexpr TimeMs kNoEnd = -1;
  // The end of an attempt, and the index of its job. When an evict changes the end, the old entry
  // is out of date.
  using End = std::pair<TimeMs, std::uint32_t>;
  // Submits one job, unless the fleet cannot hold it.
  void submit(std::uint32_t job);
  // Takes over a job that the engine has before the replay.
  void take_over(std::uint32_t job);
  // Sends the next edit.
  void edit(const Edit& edit);
  // Takes back the jobs whose attempts the port has ended.
  void take_back();
  // Returns the time of the next end, submission or edit; nullopt if there is none.
  std::optional<TimeMs> next_event();
  // Does steps 1 to 4 of the list above at now_.
  void step();
  // Does step 4 of the list above, until no more jobs start.
  void settle();
  // Binds and starts the pods of an open_gate effect. A repeated effect does nothing.
  void start(const Effect& effect);
  // Sets the end of a running job that is evicted. A repeated effect does nothing.
  void evict(const Effect& effect);
  // Returns how long the job's pods take to end.
  DurationMs grace_of(std::uint32_t job) const;
  // Returns the index of the job of an effect; nullopt: the job does not belong to the workload.
  std::optional<std::uint32_t> index_of(JobId id) const;
  // Sets when the present attempt ends.
  void end_at(std::uint32_t job, TimeMs t);
  // Removes ends that are out of date from the front of ends_.
  void drop_old_ends();
  // Ends all pods of the job, rank by rank.
  void end(std::uint32_t job);
  // Records the run time that a preempted job lost, and marks the job as queued again.
  void wait_again(std::uint32_t job);
  // Does the step "warm" of the list above.
  void begin();
  const Workload& workload_;
  Port& port_;
  Observer& observer_;
  const VictimModel victims_;
  // The records by the job's index in the workload.
  std::vector<Live> live_;
  // The index of each job that has an id.
  std::unordered_map<JobId, std::uint32_t> by_id_;
  // The ends of the present attempts, and ends that are out of date. The earliest end comes first.
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  // The index of the next job to submit.
  std::uint32_t next_ = 0;
  // The index of the next edit.
  std::size_t next_edit_ = 0;
  TimeMs now_ = 0;
  std::size_t finished_ = 0, refused_ = 0, refused_edits_ = 0;
  std::optional<Error> first_refusal_;
};

}  // namespace subak::sim

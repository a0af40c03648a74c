// Turns facts into the history of one job: events in the order of the facts, each with its cause.
// `subak job history` and the console show them. A fact is a durable decision or observation.
//
// Units: ms since 1970-01-01 UTC, by the engine's time.
// Threads: one at a time for each object; no shared state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "model/fact.h"
#include "model/job.h"

namespace subak::derive {

// What an event says. The API has the same values, plus 1, so only append.
enum class JobEventKind : std::uint8_t {
  // Subak got to know the job, or it was submitted. JobEvent::state is its first state.
  kCreated,
  // Pods joined the waiting job.
  kPodsAdded,
  // Waiting pods changed their requests.
  kPodsChanged,
  // The number of pods that start together changed to JobEvent::pods.
  kResized,
  // The job got an account.
  kAssigned,
  // The waiting job is queued, incomplete or paused from now on (JobEvent::state).
  kMoved,
  // The owner of the job's pods was suspended until the job's turn.
  kParked,
  // The owner of the job's pods was resumed, so that it creates them.
  kResumed,
  // Nodes were reserved for the job, or its reservation moved.
  kReserved,
  // The reservation ended without a start.
  kReservationEnded,
  // GPUs of other jobs were claimed for this job.
  kClaimed,
  // The claim ended without a start.
  kClaimEnded,
  // Another job claimed this job's GPUs.
  kChosenAsVictim,
  // The job got holds for all pods: an attempt began.
  kAttemptStarted,
  // Pods were bound to nodes.
  kPodsBound,
  // Containers of pods started.
  kPodsRunning,
  // The holds reached their deadline, and the attempt goes on.
  kDeadlinePassed,
  // A pod lost its hold, and the attempt goes on.
  kHoldLost,
  // The cluster's scheduler could not bind a pod.
  kSchedulerRefused,
  // A node is not used for the job for some time.
  kNodeBackedOff,
  // A pod was not Ready in time.
  kNotReady,
  // The job ran beyond its planned end.
  kOverran,
  // The job's pods were asked to end.
  kStopAsked,
  // The cluster refused to end a pod.
  kEndRefused,
  // Pods ended.
  kPodsGone,
  // The attempt ended. JobEvent::state says what the job does next.
  kAttemptEnded,
  // The job ended while it waited.
  kEnded,
  // The running job became a job of its account.
  kAdopted,
};

// One event. Fields that do not apply to the kind have their default.
struct JobEvent {
  // The first fact of the event, and its time.
  std::uint64_t seq = 0;
  TimeMs time_ms = 0;
  // The time of the last fact of the event. Later than `time_ms` only if the event has several
  // pods.
  TimeMs last_ms = 0;
  JobEventKind kind = JobEventKind::kCreated;
  // The job's state after the event.
  std::optional<JobState> state;
  Cause cause = Cause::kNone;
  // The attempt; 0: none, or not known.
  std::uint32_t attempt = 0;
  // The number of pods that the event is about.
  std::uint32_t pods = 0;
  // Each node once, in the order in which the facts name them.
  std::vector<NodeId> nodes;
  // The victims of the job's claim, or the job that claimed this job's GPUs.
  std::vector<JobId> jobs;
  // The account of a job that was assigned or created; 0: none.
  AccountId account;
  // The start that a reservation expects.
  struct Start {
    // limits::kMaxTimeMs: not known. 0: the event is no reservation.
    TimeMs at_ms = 0;
    // True: `at_ms` is a guess.
    bool estimated = false;
    // How often the start has moved to a later time.
    std::uint32_t moved_later = 0;
  };
  Start start;
  // The deadline or the end of the new state; 0: none.
  TimeMs until_ms = 0;
  // The name of a value of ReserveCause, ClaimCause, ClaimRight or JobOrigin.
  std::string why;
  struct Said {
    // The caller that asked for the change; empty: Subak itself.
    std::string actor;
    // The caller's reason, or the message of the scheduler or the kubelet.
    std::string words;
  };
  Said said;
};

// Collects the events of one job. Call add() for each fact of the store, in order.
class JobHistory {
 public:
  explicit JobHistory(JobId job) : job_(job) {}
  // Adds what the fact says about the job. Facts about other jobs and facts of checkpoints (seq 0)
  // add nothing. Facts about further pods extend the event of the first pod, as long as the job had
  // no event of another attempt or of another cause in between.
  void add(const Fact& fact);
  // The events so far.
  const std::vector<JobEvent>& events() const { return events_; }
  // True: the job is done, so no later fact adds an event.
  bool ended() const { return ended_; }

 private:
  struct Adder;
  JobId job_;
  std::vector<JobEvent> events_;
  bool ended_ = false;
  // The job whose claim names this job; none: there is no such claim.
  JobId claimant_;
  // The present or the last attempt, as far as the facts say.
  std::uint32_t attempt_ = 0;
};

// Returns the event as one sentence for people, without its time, its nodes and its jobs. Times in
// the sentence are UTC.
std::string event_text(const JobEvent& event);

}  // namespace subak::derive

// The sentences of events.
#include <string>
#include <string_view>

#include "core/duration.h"
#include "core/limits.h"
#include "engine/derive/history/job_history.h"

namespace subak::derive {
namespace {

std::string at(TimeMs t) {
  return t < 0 || t > limits::kMaxTimeMs ? "an unknown time" : format_time(t);
}

// Returns "1 pod" or "8 pods".
std::string pods_text(std::uint32_t pods) {
  return std::to_string(pods) + (pods == 1 ? " pod" : " pods");
}

std::string jobs_text(const JobEvent& e) {
  return std::to_string(e.jobs.size()) + (e.jobs.size() == 1 ? " job" : " jobs");
}

std::string cause_text(Cause cause) {
  return cause == Cause::kNone ? std::string() : ": " + std::string(enum_name(cause));
}

std::string by_text(const JobEvent& e) {
  return e.said.actor.empty() ? std::string() : " by " + e.said.actor;
}

std::string until_text(const JobEvent& e, std::string_view before) {
  return e.until_ms == 0 ? std::string() : std::string(before) + at(e.until_ms);
}

std::string words_text(const JobEvent& e) {
  return e.said.words.empty() ? "" : ": " + e.said.words;
}

// Says what a waiting job does in its state.
std::string waiting_text(const JobEvent& e) {
  switch (e.state.value_or(JobState::kQueued)) {
    case JobState::kQueued:
      return "queued";
    case JobState::kIncomplete:
      return "waits for more of its pods" + until_text(e, ", until ");
    case JobState::kPaused:
      return "paused" + (e.until_ms == 0 ? std::string(" until a person releases it")
                                         : until_text(e, " until "));
    case JobState::kRunning:
      return "runs";
    case JobState::kEnding:
      return "must end";
    case JobState::kStarting:
      return "starts";
    case JobState::kDone:
      return "done";
  }
  return "";
}

// Says why a reservation is as it is, in the words of ReserveCause.
std::string_view reserve_text(std::string_view why) {
  if (why == "made") return "the job did not fit in its turn";
  if (why == "earlier") return "better nodes, an earlier start, or a surer one";
  if (why == "overrun") return "a job on these nodes runs longer than expected";
  if (why == "node") return "a reserved node is gone or takes no new pods";
  if (why == "taken") return "others took reserved nodes";
  if (why == "account") return "a rule of its accounts stops the job";
  if (why == "policy") return "the policy allows fewer reservations";
  if (why == "no_place") return "there is no placement for which it could wait";
  return why;
}

std::string_view claim_text(std::string_view why) {
  if (why == "account") return "its accounts no longer allow it";
  if (why == "place") return "the claimed GPUs are gone or taken";
  if (why == "stays") return "a job that had to end stays";
  if (why == "policy") return "the policy no longer allows claims";
  return why;
}

std::string reserved_text(const JobEvent& e) {
  std::string text = "nodes reserved, ";
  if (e.start.at_ms == limits::kMaxTimeMs) {
    text += "start not known";
  } else {
    text += (e.start.estimated ? "estimated start " : "starts by ") + at(e.start.at_ms);
  }
  if (e.start.moved_later > 0) {
    text += ", moved later " + std::to_string(e.start.moved_later) +
            (e.start.moved_later == 1 ? " time" : " times");
  }
  return text + ": " + std::string(reserve_text(e.why));
}

std::string created_text(const JobEvent& e) {
  std::string text = "created" + by_text(e) + " with " + pods_text(e.pods) + ", ";
  if (e.why == "pods") text = "created from gated pods, " + pods_text(e.pods) + ", ";
  if (e.why == "foreign") text = "found running, not started by Subak, ";
  if (e.why == "adopted") text = "found running when its namespace changed to enforce, ";
  return text + waiting_text(e) + words_text(e);
}

std::string claim_ended_text(const JobEvent& e) {
  const std::string why = ": " + std::string(claim_text(e.why));
  if (e.jobs.empty()) return "claim ended" + why;
  return "no longer has to end for another job" + why;
}

std::string plan_text(const JobEvent& e) {
  const bool by_class = e.why == "class";
  switch (e.kind) {
    case JobEventKind::kReserved:
      return reserved_text(e);
    case JobEventKind::kReservationEnded:
      return "reservation ended: " + std::string(reserve_text(e.why));
    case JobEventKind::kClaimed:
      return "GPUs of " + jobs_text(e) + " claimed, " +
             (by_class ? "whose priority is lower" : "beyond their quota");
    case JobEventKind::kClaimEnded:
      return claim_ended_text(e);
    case JobEventKind::kChosenAsVictim:
      return std::string("another job claims its GPUs ") +
             (by_class ? "by a higher priority" : "within its own quota") +
             until_text(e, ", asked to end from ");
    default:
      return "";
  }
}

std::string attempt_text(const JobEvent& e) {
  switch (e.kind) {
    case JobEventKind::kAttemptStarted:
      return "started: GPUs held for " + pods_text(e.pods) + until_text(e, " until ");
    case JobEventKind::kPodsBound:
      return pods_text(e.pods) + " bound";
    case JobEventKind::kPodsRunning:
      return pods_text(e.pods) + " running";
    case JobEventKind::kDeadlinePassed:
      return "holds past their deadline; pods whose gates may be open keep them";
    case JobEventKind::kHoldLost:
      return pods_text(e.pods) + " lost the hold" + cause_text(e.cause);
    case JobEventKind::kSchedulerRefused:
      return "the scheduler could not bind a pod" + words_text(e) + until_text(e, "; waits until ");
    case JobEventKind::kNodeBackedOff:
      return "node not used for this job" + until_text(e, " until ");
    case JobEventKind::kNotReady:
      return "a pod was not Ready in time" + words_text(e) + until_text(e, "; waits until ");
    case JobEventKind::kOverran:
      return "ran beyond its planned end";
    case JobEventKind::kStopAsked:
      return "asked to end" + by_text(e) + cause_text(e.cause) + words_text(e);
    case JobEventKind::kEndRefused:
      return "the cluster refused to end a pod; the job keeps its GPUs";
    case JobEventKind::kPodsGone:
      return pods_text(e.pods) + " ended" + cause_text(e.cause) + words_text(e);
    case JobEventKind::kAttemptEnded:
      return "attempt ended" + cause_text(e.cause) + "; " + waiting_text(e);
    default:
      return plan_text(e);
  }
}

}  // namespace

std::string event_text(const JobEvent& e) {
  switch (e.kind) {
    case JobEventKind::kCreated:
      return created_text(e);
    case JobEventKind::kPodsAdded:
      return pods_text(e.pods) + " joined";
    case JobEventKind::kPodsChanged:
      return "request changed by " + pods_text(e.pods);
    case JobEventKind::kResized:
      return "now has " + pods_text(e.pods);
    case JobEventKind::kAssigned:
      return "got its account";
    case JobEventKind::kMoved:
      return waiting_text(e) + by_text(e) + words_text(e);
    case JobEventKind::kParked:
      return "parked: the owner of its pods is suspended";
    case JobEventKind::kResumed:
      return "owner resumed: its pods come" + until_text(e, "; holds end at ");
    case JobEventKind::kEnded:
      return "ended while it waited" + by_text(e) + cause_text(e.cause) + words_text(e);
    case JobEventKind::kAdopted:
      return "adopted: its account pays from now on";
    default:
      return attempt_text(e);
  }
}

}  // namespace subak::derive

// Decisions about commands that a pod's cluster did not carry out.
#include <algorithm>
#include <string>
#include <utility>

#include "core/must.h"
#include "core/printable.h"
#include "engine/decide/decide.h"
#include "engine/derive/effects.h"
#include "engine/derive/preemption/preemptible.h"

namespace subak::decide {
namespace {

// Returns the wait before the next attempt of a job that was not Ready in time: 1 min, 2 min, ... up
// to 1 h.
DurationMs wait_after(std::uint32_t times) {
  must(times > 0, "an attempt was not ready in time");
  DurationMs wait = kMinuteMs;
  for (std::uint32_t i = 1; i < times && wait < kHourMs; ++i) wait *= 2;
  return std::min<DurationMs>(wait, kHourMs);
}

// Ends an attempt that is not Ready in time. The job waits again, with a backoff. The report may be
// late, or of an edge that still uses an earlier policy, so the age of the attempt counts too.
void time_out(Decision& d, JobId id, std::uint32_t rank, std::string_view words) {
  const state::Job& job = d.s.jobs().at(id);
  const DurationMs within = d.s.policy().gangs.ready_within_ms;
  const bool under_way = job.state == JobState::kStarting || job.state == JobState::kRunning;
  if (within == 0 || !under_way || !job.is_ours() || !job.pods[rank].is_bound()) return;
  const DurationMs age = d.s.now() - job.run().started_ms;
  if (age < within || !derive::may_be_ended(job)) return;
  // An attempt that lived much longer than the policy allows was Ready in between.
  const state::ReadyTimeout* const last = job.extras().unready.get();
  const std::uint32_t times = last != nullptr && age < 2 * within ? last->times + 1 : 1;
  std::string said = one_line(words);
  if (said.empty()) said = "the cluster gave no reason";
  d.emit(fact::ReadyTimedOut{id, rank, std::move(said), times, d.s.now() + wait_after(times)});
  if (job.state == JobState::kStarting) give_up(d, id, Cause::kNotReady);
  if (job.in_attempt() && job.state != JobState::kEnding)
    ask_stop(d, d.s.jobs().at(id), Cause::kNotReady, {});
  must(job.state == JobState::kEnding, "a job that was not ready in time ends");
}

}  // namespace

// A refusal counts only for a pod that is on its way or has to end. For any other pod, the report
// came late.
void decide(Decision& d, const in::PodRefused& i) {
  const bool evicts = i.cause == Cause::kEvictRefused;
  const bool unready = i.cause == Cause::kNotReady;
  if (!evicts && !unready && i.cause != Cause::kReleaseRefused &&
      i.cause != Cause::kUnschedulable) {
    return d.refuse({ErrorCode::kInvalid, "cause", std::string(enum_name(i.cause)),
                     "want release_refused, unschedulable, evict_refused or not_ready"},
                    i.pod.uid);
  }
  const auto found = find_named(d, i.cluster, i.pod);
  if (!found) return;
  if (unready) return time_out(d, found->job, found->rank, i.words);
  const state::Job& job = d.s.jobs().at(found->job);
  if (evicts) {
    const bool news = derive::must_go(job, found->rank) && job.run().end_refused_ms == 0;
    if (news) d.emit(fact::EndRefused{job.id, job.attempt});
    return;
  }
  if (job.pods[found->rank].state != PodState::kHeld) return;
  const bool starts = job.state == JobState::kStarting;
  const bool scheduler = i.cause == Cause::kUnschedulable;
  JobId id = found->job;
  std::uint32_t rank = found->rank;
  if (starts && job.runs_on()) {  // the pod is tried again by itself
    id = part(d, id, rank);
    rank = 0;
  }
  const state::Job& refused = d.s.jobs().at(id);
  must(refused.pods[rank].state == PodState::kHeld, "a pod that is refused has a hold");
  if (scheduler && (starts || job.stop == i.cause)) note_refusal(d, refused, rank, i.words);
  if (starts) give_up(d, id, i.cause);
}

}  // namespace subak::decide

// Decisions about the end of a pod: its time, and the charge and release of what it held.
#include <algorithm>
#include <string>

#include "core/must.h"
#include "engine/decide/decide.h"
#include "engine/decide/said_time.h"

namespace subak::decide {

std::string early_name(const PodRef& ref) {
  if (!ref.uid.empty()) return ref.uid;
  return text::job_id_text(ref.job) + "/" + std::to_string(ref.rank) + "/" +
         std::to_string(ref.attempt);
}

// A pod that was never charged, or whose end is reported twice, changes nothing.
void decide(Decision& d, const in::PodGone& i) {
  const state::Cluster* const cluster = d.s.clusters().find(i.cluster);
  if (cluster == nullptr) return d.refuse(no_cluster(i.cluster), i.cluster);
  d.tell(note::PodNoLongerBeforeNode{cluster->id, early_name(i.pod)});
  if (end_non_gpu_pod(d, cluster->id, i.pod.uid)) return;
  const auto found = d.s.jobs().find(cluster->id, i.pod);
  if (!found) return;
  const auto [id, rank] = *found;
  const state::Pod& pod = d.s.jobs().at(id).pods[rank];
  if (!pod.is_live()) return;
  const End end = end_of(d, pod, i.ended_at_ms, i.cause);
  // Two reports may show the error of one clock with a difference of a few ms, so a short pod may
  // seem to end before it began. A pod that ran must get a ledger row, so its time is at least 1
  // ms.
  const bool is_short = end.clock == RowClock::kAdjusted && pod.is_bound();
  const TimeMs least_ms = is_short ? std::min(pod.since_ms + 1, d.s.now()) : 0;
  end_pod(d, id, rank, std::max(end.at_ms, least_ms), i.cause, end.clock, i.rejection);
}

void end_pod(Decision& d, JobId id, std::uint32_t rank, TimeMs at, Cause cause, RowClock clock,
             const Rejection& rejection) {
  const state::Job& job = *d.s.jobs().find(id);
  const state::Pod& pod = job.pods[rank];
  must(pod.is_live(), "a pod ends once");
  const bool had_place = pod.holds_slot();
  const TimeMs there_ms = std::min(std::max(pod.since_ms, pod.seen_ms), d.s.now());
  at = had_place ? std::clamp(at, there_ms, d.s.now()) : d.s.now();
  if (pod.state == PodState::kHeld) charge(d, job, rank, at, UsageState::kHeldUnbound, kPlatform);
  if (pod.is_bound()) {
    cause == Cause::kRejected ? charge(d, job, rank, at, UsageState::kHeldUnbound, kPlatform, clock)
                              : charge_end(d, job, rank, at, clock);
  }
  refund_lost_work(d, job, rank, cause);
  if (cause == Cause::kRejected && pod.holds_slot()) {
    bar_node(d, pod.slot.node, state::shape_of(d.s.fleet(), pod), rejection);
  }
  must(at <= d.s.now(), "a pod that ended has ended by now");
  d.emit(fact::PodGone{id, rank, at, cause, cause == Cause::kRejected ? rejection : Rejection()});
  must(!pod.is_live() && !pod.holds_slot(), "a pod that is gone holds nothing");
  const bool ill = cause != Cause::kNone && cause != Cause::kFinished;
  const bool goes_on = job.state == JobState::kStarting || job.state == JobState::kRunning;
  if (job.waits()) {
    settle(d, id, ill ? cause : Cause::kVanished);
  } else if (goes_on && had_place && ill && job.pods_holding() > 0 && !job.replaced_alone()) {
    give_up(d, id, Cause::kMemberLost);
  } else {
    finish_if_over(d, id);
  }
}

}  // namespace subak::decide

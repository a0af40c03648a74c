// Decisions about commands that a pod's cluster did not carry out.
#include <string>

#include "core/must.h"
#include "engine/decide/decide.h"
#include "engine/derive/effects.h"

namespace subak::decide {

// A refusal counts only for a pod that is on its way or has to end. For any other pod, the report
// came late.
void decide(Decision& d, const in::PodRefused& i) {
  const bool evicts = i.cause == Cause::kEvictRefused;
  if (!evicts && i.cause != Cause::kReleaseRefused && i.cause != Cause::kUnschedulable) {
    return d.refuse({ErrorCode::kInvalid, "cause", std::string(enum_name(i.cause)),
                     "want release_refused, unschedulable or evict_refused"},
                    i.pod.uid);
  }
  const auto found = find_named(d, i.cluster, i.pod);
  if (!found) return;
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

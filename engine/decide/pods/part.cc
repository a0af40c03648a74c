// Decisions about inferred gangs: their running pods go on, whatever happens to the others.
#include <algorithm>
#include <utility>

#include "core/must.h"
#include "engine/decide/pods/join.h"

namespace subak::decide {

namespace {

fact::JobCreated job_apart(const Decision& d, const state::Job& gang) {
  fact::JobCreated created;
  created.id = JobId(gang.id.cluster(), d.s.clusters().at(gang.id.cluster()).next_job);
  created.origin = JobOrigin::kPods;
  created.leaf = gang.leaf;
  created.name = gang.name;
  created.request = state::request_of(d.s.fleet(), gang);
  created.request.groups.clear();
  created.priority = gang.priority;
  created.has_class = gang.has_class;
  created.time_limit_ms = gang.time_limit_ms;
  created.submit_ms = gang.submit_ms;
  must(static_cast<bool>(gang.pod_origin), "a gang of pods has an owner");
  created.owner = gang.pod_origin->owner;
  if (gang.pod_origin->workload != nullptr) created.of_pods.workload = *gang.pod_origin->workload;
  created.account = gang.pod_origin->account;
  created.user = gang.pod_origin->user;
  return alone_of_gang(std::move(created));
}

// Starts the new job with the hold that the pod had. Later decisions about the job are as for any
// job.
void keep_place(Decision& d, JobId id, const PodSlot& slot) {
  must(bool(slot.node), "a pod that leaves its gang has a hold");
  d.emit(fact::JobMoved{id, JobState::kQueued, Cause::kNone, {}, JobState::kIncomplete});
  d.emit(fact::AttemptStarted{id, 1, d.s.now() + d.s.policy().hold_ms, {slot}});
  d.act_on(id);
  must(d.s.jobs().at(id).state == JobState::kStarting, "the pod keeps the hold that it had");
}

}  // namespace

JobId part(Decision& d, JobId id, std::uint32_t rank) {
  const state::Job& gang = d.s.jobs().at(id);
  const state::Pod& pod = gang.pods[rank];
  must(pod.state == PodState::kHeld || pod.is_expected(), "who parts is on the way, or expected");
  const bool held = pod.state == PodState::kHeld;
  fact::PodAdded added;
  added.uid = pod.uid;
  added.name = pod.name;
  added.shape = state::shape_of(d.s.fleet(), pod);
  added.controlled = pod.controlled;
  added.gate = pod.gate;
  added.order = pod.order;
  added.grace_ms = pod.grace_ms;
  const PodSlot slot = pod.slot;
  fact::JobCreated created = job_apart(d, gang);
  const JobId alone = created.id;
  if (held) charge(d, gang, rank, d.s.now(), UsageState::kHeldUnbound, kPlatform);
  d.emit(fact::PodGone{id, rank, d.s.now(), Cause::kNone});
  d.act_on(id);
  if (added.uid.empty()) return JobId();
  d.emit(std::move(created));
  added.job = alone;
  d.emit(std::move(added));
  d.tell(note::PodListed{alone.cluster(), {alone, 0}});
  keep_place(d, alone, slot);
  return alone;
}

void part_unbound(Decision& d, JobId id, Cause cause) {
  const state::Job& gang = d.s.jobs().at(id);
  for (std::uint32_t rank = 0; rank < gang.ranks(); ++rank) {
    const state::Pod& pod = gang.pods[rank];
    const bool expected = pod.state == PodState::kWaiting && pod.is_expected();
    if (pod.state != PodState::kHeld && !expected) continue;
    const JobId alone = part(d, id, rank);
    if (alone) give_up(d, alone, cause);
  }
}

void leave_out_apart(Decision& d, JobId id) {
  const state::Job& gang = d.s.jobs().at(id);
  if (!gang.replaced_alone() || gang.state != JobState::kIncomplete) return;
  const std::size_t apart =
      d.s.jobs().gangs().apart(id.cluster(), gang.name, gang.pod_origin->owner).size();
  std::uint32_t gone = 0;
  for (std::uint32_t rank = 0; rank < gang.gang_size; ++rank) {
    gone += rank >= gang.pods.size() || !gang.pods[rank].is_live() ? 1 : 0;
  }
  const auto less = static_cast<std::uint32_t>(std::min<std::size_t>(gone, apart));
  const std::uint32_t size = gang.gang_size > less ? gang.gang_size - less : 1;
  must(size > 0 && size <= gang.gang_size, "a gang becomes smaller by the pods that left it");
  if (size != gang.gang_size) d.emit(fact::GangResized{id, size});
}

}  // namespace subak::decide

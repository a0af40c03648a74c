// Decisions about parked jobs, whose pods do not exist while their owner is suspended
// (docs/design/0119).
#include <algorithm>
#include <span>
#include <utility>

#include "core/limits.h"
#include "core/must.h"
#include "core/stored_size.h"
#include "engine/decide/decide.h"
#include "engine/decide/pods/join.h"

namespace subak::decide {
namespace {

std::uint64_t pods_in(const std::vector<PodGroup>& groups) {
  std::uint64_t pods = 0;
  for (const PodGroup& group : groups) pods += group.count;
  return pods;
}

std::optional<Error> check_seen(const in::OwnerSeen& i) {
  const PodRecord& pod = i.pod;
  if (pod.uid.empty() || pod.ns.empty() || pod.name.empty() || pod.owner.empty()) {
    return Error{ErrorCode::kInvalid, "pod", pod.ns + "/" + pod.name,
                 "want uid, namespace, name and owner"};
  }
  if (i.state != ParkedOwner::kParked) return std::nullopt;
  const bool all_ask = std::none_of(i.groups.begin(), i.groups.end(), [](const PodGroup& group) {
    return group.shape.kind == GpuKind::kNone || group.count == 0;
  });
  if (!all_ask) {
    return Error{ErrorCode::kInvalid, "groups", "none",
                 "want pods that ask for GPUs: no others are in a gang"};
  }
  const std::uint64_t pods = pods_in(i.groups);
  if (pods == 0 || pods != pod.gang_size || (pods > 1 && pod.gang.empty())) {
    return Error{ErrorCode::kInvalid, "groups", std::to_string(pods) + " pods",
                 "want as many as pod.gang_size, at least 1, and a gang for more than 1"};
  }
  return std::nullopt;
}

// Makes a job that is not queued any more incomplete, so that its pods may change.
void leave_queue(Decision& d, const state::Job& job) {
  if (job.state != JobState::kQueued) return;
  d.emit(fact::JobMoved{job.id, JobState::kIncomplete, Cause::kNone, {}, JobState::kIncomplete});
}

bool has_groups(const Decision& d, const state::Job& job, const std::vector<PodGroup>& groups) {
  if (pods_in(groups) != job.gang_size || job.pods.size() < job.gang_size) return false;
  std::uint32_t rank = 0;
  for (const PodGroup& group : groups) {
    for (std::uint32_t n = 0; n < group.count; ++n, ++rank) {
      const state::Pod& pod = job.pods[rank];
      if (!pod.is_expected() || !(state::shape_of(d.s.fleet(), pod) == group.shape)) return false;
    }
  }
  return true;
}

// True if pods of the owner still run apart from their gang.
bool has_pods_apart(const Decision& d, ClusterId cluster, const PodRecord& pod) {
  return !d.s.jobs().gangs().apart(cluster, job_name_of(pod), pod.owner).empty();
}

// The pods of the owner still exist, so it cannot wait as a job without pods. The edge reports it
// again.
void put_off(Decision& d, const in::OwnerSeen& i) {
  d.refuse({ErrorCode::kExhausted, "queue", i.pod.ns + "/" + i.pod.name,
            "its pods still exist: it is parked when they are gone"},
           i.pod.uid);
}

// `submit_ms`: when the owner began to wait. 0: when it was created.
void park(Decision& d, const state::Cluster& cluster, const in::OwnerSeen& i, TimeMs submit_ms) {
  const AccountId account = account_of(d, cluster.id, i.pod.ns, i.pod.account);
  if (auto full = queue_is_full(d, account)) return d.refuse(*full, i.pod.uid);
  GangRequest request{i.groups, i.pod.terms};
  if (auto error = check_bytes(stored_bytes(request))) return d.refuse(*error, i.pod.uid);
  fact::JobCreated created = new_job(d, cluster, i.pod, account);
  created.of_pods.parking = Parking::kParked;
  created.owner = i.pod.owner;
  if (submit_ms != 0) created.submit_ms = submit_ms;
  const JobId id = created.id;
  d.emit(std::move(created));
  d.emit(fact::PodsExpected{id, 0, i.groups});
  must(d.s.jobs().at(id).is_parked() && d.s.jobs().at(id).pods_live() == 0,
       "a parked job has no pods");
  d.tell(note::OwnerListed{id});
  settle(d, id);
}

// Ends a job whose pods have not come and do not come.
void end_without_pods(Decision& d, const state::Job& job) {
  if (!job.waits()) return give_up(d, job.id, Cause::kCancelled);
  d.emit(fact::JobMoved{job.id, JobState::kDone, Cause::kCancelled, {}, JobState::kIncomplete});
}

// The owner of a known job is suspended: the owner was edited, or it was suspended again before it
// created pods. The job keeps its place in the order.
void park_again(Decision& d, const state::Job& job, const in::OwnerSeen& i) {
  const JobId id = job.id;
  if (job.ends_for_good()) return;  // the owner gets another mark
  const bool has_pods = job.waits() ? job.pods_live() > 0 : !job.awaits_parked_pods();
  if (has_pods || has_pods_apart(d, id.cluster(), i.pod)) return put_off(d, i);
  if (job.gang == i.pod.gang.empty()) {  // a gang became a single pod, or a single pod a gang
    const state::Job* const other = find_gang(d, id.cluster(), i.pod);
    if (other != nullptr && other->id != id) return put_off(d, i);
    const TimeMs submit_ms = job.submit_ms;
    end_without_pods(d, job);
    return park(d, d.s.clusters().at(id.cluster()), i, submit_ms);
  }
  if (!job.is_parked()) {
    leave_queue(d, job);
    d.emit(fact::JobParked{id, Parking::kParked, 0});
    d.act_on(id);
  }
  d.tell(note::OwnerListed{id});
  if (!job.waits() || has_groups(d, job, i.groups)) return settle(d, id);
  const auto size = static_cast<std::uint32_t>(pods_in(i.groups));
  leave_queue(d, job);
  if (size != job.gang_size) d.emit(fact::GangResized{id, size});
  d.emit(fact::PodsExpected{id, 0, i.groups});
  job_changed(d, id);
  settle(d, id);
}

}  // namespace

void unpark(Decision& d, JobId id) {
  const state::Job& job = d.s.jobs().at(id);
  if (!job.is_parked()) return;
  if (job.ends_for_good()) {  // it was cancelled: its owner stays suspended
    d.emit(fact::JobParked{id, Parking::kResumed, 0});
    return finish_if_over(d, id);
  }
  leave_queue(d, job);
  d.emit(fact::JobParked{id, Parking::kResumed, 0});
  d.act_on(id);
  settle(d, id);
}

void expect_again(Decision& d, JobId id) {
  const state::Job& job = d.s.jobs().at(id);
  must(job.waits() && job.is_parked() && job.pods_live() == 0, "no pod of a parked job exists");
  const auto ranks = std::span(job.pods).first(job.ranks());
  const bool all = std::all_of(ranks.begin(), ranks.end(),
                               [](const state::Pod& pod) { return pod.is_expected(); });
  if (ranks.empty() || (all && ranks.size() == job.gang_size) || !ranks.front().shape) return;
  std::vector<PodGroup> groups;
  // A pod that never came has the request of the pod before it.
  for (std::uint32_t rank = 0; rank < job.gang_size; ++rank) {
    const bool is_known = rank < ranks.size() && ranks[rank].shape;
    state::append_pods(groups, 1,
                       is_known ? state::shape_of(d.s.fleet(), ranks[rank]) : groups.back().shape);
  }
  leave_queue(d, job);
  d.emit(fact::PodsExpected{id, 0, std::move(groups)});
}

void decide(Decision& d, const in::OwnerSeen& i) {
  const state::Cluster* const cluster = d.s.clusters().find(i.cluster);
  if (cluster == nullptr) return d.refuse(no_cluster(i.cluster), i.cluster);
  if (auto error = check_seen(i)) return d.refuse(*error, i.pod.uid);
  const JobId id = d.s.jobs().gangs().of_parked(cluster->id, i.pod.owner);
  if (i.state == ParkedOwner::kParked) {
    if (id) return park_again(d, d.s.jobs().at(id), i);
    if (cluster->mode_of(i.pod.ns) != Mode::kEnforce) return;
    const bool has_pods = find_gang(d, cluster->id, i.pod) != nullptr;
    if (has_pods || has_pods_apart(d, cluster->id, i.pod)) return put_off(d, i);
    return park(d, *cluster, i, 0);
  }
  if (!id) return;
  const state::Job& job = d.s.jobs().at(id);
  // In a namespace that is not enforced, the pods have no gate and are not the job's.
  const bool come =
      i.state == ParkedOwner::kResumed && cluster->mode_of(job.ns()) == Mode::kEnforce;
  if (come || !job.awaits_parked_pods() || job.ends_for_good()) return unpark(d, id);
  end_without_pods(d, job);
}

}  // namespace subak::decide

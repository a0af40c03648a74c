// Decisions about pods that a cluster's edge has seen: they queue, bind, run and end.
#include <algorithm>

#include "accounting/quota/entitlement.h"
#include "core/limits.h"
#include "core/must.h"
#include "core/stored_size.h"
#include "engine/decide/decide.h"
#include "engine/decide/pods/join.h"
#include "engine/decide/said_time.h"
#include "placement/fleet/queries.h"

namespace subak::decide {
namespace {

Error unknown_pod(const PodRef& ref) {
  const std::string got =
      ref.uid.empty() ? text::job_id_text(ref.job) + "/" + std::to_string(ref.rank) : ref.uid;
  return {ErrorCode::kNotFound, "pod", got,
          "no live pod has this uid, or this rank in this reservation of the job"};
}

// Stores the report of a pod whose node has not been seen. Beyond limits::kMaxEarlyPods, refuses
// the report. Non-GPU pods may take only half of this number, because an edge may never report
// nodes without GPUs.
void wait_for_node(Decision& d, ClusterId cluster, const std::string& node) {
  const auto* bound = std::get_if<in::PodBound>(&d.input.body);
  const auto* seen = std::get_if<in::PodSeen>(&d.input.body);
  must(bound != nullptr || seen != nullptr, "only these two say where a pod is");
  const std::string pod = bound != nullptr ? early_name(bound->pod) : seen->pod.uid;
  const bool non_gpu = seen != nullptr && seen->pod.shape.kind == GpuKind::kNone;
  const std::size_t most = non_gpu ? limits::kMaxEarlyPods / 2 : limits::kMaxEarlyPods;
  if (d.observed.early_pods().count(cluster) < most) {
    in::Body said = d.input.body;
    auto* const at = std::get_if<in::PodBound>(&said);
    if (at != nullptr && at->at_ms != 0) at->at_ms = our_time(d, at->at_ms);
    return d.tell(note::PodBeforeNode{cluster, {pod, node, std::move(said)}});
  }
  d.refuse({ErrorCode::kNotFound, "node", node, "no such node has been seen"}, pod);
}

// Adds a pod that was bound without Subak. It takes capacity and is charged from its binding on, or
// since the node is known.
void add_foreign(Decision& d, const state::Cluster& cluster, const PodRecord& pod,
                 AccountId account) {
  const NodeId node = d.s.nodes().find(cluster.id, pod.node);
  if (!node) return wait_for_node(d, cluster.id, pod.node);
  const state::Job* job = find_gang(d, cluster.id, pod);
  const bool taken = job != nullptr && job->origin == JobOrigin::kPods;
  const bool full = job != nullptr && job->pods.size() >= limits::kMaxPodsPerJob;
  if (job != nullptr && (taken || full || job->state != JobState::kRunning)) job = nullptr;
  if (job == nullptr) {
    const bool adopted = cluster.mode_of(pod.ns) == Mode::kEnforce && !cluster.synced && pod.gated;
    fact::JobCreated created =
        job_of(d, cluster, pod, account, adopted ? JobOrigin::kAdopted : JobOrigin::kForeign);
    created.state = JobState::kRunning;
    created.gang = created.gang && !taken && !full;
    const JobId id = created.id;
    d.emit(std::move(created));
    job = d.s.jobs().find(id);
  }
  std::uint32_t rank = 0;
  while (rank < job->pods.size() && job->pods[rank].state != PodState::kGone) ++rank;
  fact::PodAdded added;
  added.job = job->id;
  added.rank = rank;
  added.uid = pod.uid;
  added.name = pod.ns + "/" + pod.name;
  added.shape = pod.shape;
  added.controlled = pod.controlled;
  added.bound = true;
  const ShapeId shape = d.shape_of(cluster.id, state::single_pod(pod.shape));
  added.slot = adopt_slot(d.s.fleet(), shape, 0, node);
  added.bound_at_ms = d.s.now();
  if (pod.bound_at_ms != 0) {
    added.bound_at_ms = std::clamp(pod.bound_at_ms, d.s.nodes().seen_since(node), d.s.now());
  }
  const JobId id = job->id;
  const TimeMs since = std::max<TimeMs>(added.bound_at_ms, 1);
  must(added.bound_at_ms <= d.s.now() && added.slot.node == node, "a foreign pod is there already");
  d.emit(std::move(added));
  must(job->pods[rank].is_bound(), "a foreign pod is bound");
  d.tell(note::PodListed{cluster.id, {id, rank}});
  evict_overcommit(d, node);
  if (!pod.running) return;
  clear_backoff(d, node, pod.shape, id);
  d.emit(fact::PodRunning{id, rank, d.s.now(), since});
}

// Moves a pod that ran before its node was known, and that counted on the node of its hold until
// now. The former slot is charged until now.
void rebind(Decision& d, const state::Job& job, std::uint32_t rank, NodeId node) {
  const state::Pod& pod = job.pods[rank];
  must(pod.is_bound(), "a pod that is bound again was bound");
  if (pod.slot.node == node) return;
  const bool running = pod.state == PodState::kRunning;
  const PodSlot slot = adopt_slot(d.s.fleet(), pod.shape, pod.shape_rank, node);
  charge_end(d, job, rank, d.s.now());
  d.emit(fact::PodBound{job.id, rank, d.s.now(), slot});
  evict_overcommit(d, node);
  if (!running) return;
  clear_backoff(d, node, state::shape_of(d.s.fleet(), job.pods[rank]), job.id);
  d.emit(fact::PodRunning{job.id, rank, d.s.now()});
}

// A binding at `at` by our clock; 0: now. `clock`: how `at` is known. `sign`: evidence that the pod
// exists.
struct Bind {
  TimeMs at = 0;
  RowClock clock = RowClock::kService;
  Sign sign;
};

void bind(Decision& d, const state::Job& job, std::uint32_t rank, const std::string& node_name,
          Bind said) {
  const state::Pod& pod = job.pods[rank];
  const bool unseen = pod.state == PodState::kWaiting && pod.uid.empty();
  if (pod.state == PodState::kGone || unseen) {
    return d.refuse({ErrorCode::kPrecondition, "pod", text::job_id_text(job.id),
                     "the pod has no hold, so it cannot be bound"},
                    job.name);
  }
  const NodeId node = d.s.nodes().find(job.id.cluster(), node_name);
  if (!node) return wait_for_node(d, job.id.cluster(), node_name);
  if (pod.is_bound()) return rebind(d, job, rank, node);
  // The pod was bound although it waits, so it got past its gate. From now on it counts as a
  // foreign pod on its real node.
  if (pod.state == PodState::kWaiting) {
    PodRecord stray;
    stray.uid = pod.uid;
    const auto slash = pod.name.find('/');
    stray.ns = pod.name.substr(0, slash);
    stray.name = pod.name.substr(slash + 1);
    stray.shape = state::shape_of(d.s.fleet(), pod);
    stray.controlled = pod.controlled;
    stray.node = node_name;
    stray.bound_at_ms = said.at;
    const JobId id = job.id;
    const AccountId leaf = job.leaf;
    end_pod(d, id, rank, d.s.now(), Cause::kNone);
    return add_foreign(d, d.s.clusters().at(id.cluster()), stray, leaf);
  }
  TimeMs at = said.at == 0 ? d.s.now() : std::clamp(said.at, pod.since_ms, d.s.now());
  PodSlot slot = pod.slot;
  if (node != slot.node) {
    slot = adopt_slot(d.s.fleet(), pod.shape, pod.shape_rank, node);
    at = d.s.now();  // until now it counted on its former slot
  }
  const RowClock clock = at == said.at ? said.clock : RowClock::kService;
  charge(d, job, rank, at, UsageState::kHeld, job.leaf, clock);
  // A pod whose gate was never open before cannot exist before its hold. If the report says so, a
  // clock was set.
  const bool first = pod.uid.empty() || job.attempt == 1;
  const TimeMs seen_ms = said.sign.seen_ms;
  const TimeMs there_ms = seen_ms != 0 && first ? std::max(seen_ms, job.run().started_ms) : seen_ms;
  must(slot.node == node && at <= d.s.now(), "a pod is bound to the node that was reported");
  d.emit(fact::PodBound{job.id, rank, at, slot, there_ms, said.sign.behind_ms});
  must(job.pods[rank].is_bound(), "a pod that was reported is bound");
  evict_overcommit(d, node);
}

// A binding that a launcher reports.
Bind bind_said(const Decision& d, ClusterId cluster, TimeMs at) {
  if (at == 0) return {};
  const Sign sign = sign_of(d, cluster, at);
  if (sign.behind_ms == 0) return {our_time(d, at), clock_of(d, at), sign};
  return {std::clamp<TimeMs>(at + sign.behind_ms, 1, d.s.now()), RowClock::kAdjusted, sign};
}

// A binding that an object of the cluster shows: its time is by the scheduler's clock alone.
Bind bind_seen(const Decision& d, const PodRecord& pod) {
  if (pod.bound_at_ms == 0) return {};
  const TimeMs at = std::min(pod.bound_at_ms, d.s.now());
  return {at, RowClock::kReported, {std::max<TimeMs>(at, 1), 0}};
}

void start_running(Decision& d, const state::PodPlace& place, TimeMs at, const Sign& sign) {
  const state::Pod& pod = d.s.jobs().at(place.job).pods[place.rank];
  must(pod.state == PodState::kBound, "a pod runs after it was bound");
  clear_backoff(d, pod.slot.node, state::shape_of(d.s.fleet(), pod), place.job);
  d.emit(fact::PodRunning{place.job, place.rank, at, sign.seen_ms, sign.behind_ms});
}

// Records that a pod runs, after the same report has shown that it is bound.
void see_running(Decision& d, ClusterId cluster, const PodRecord& pod) {
  const auto place = d.s.jobs().find(cluster, pod.uid);
  if (!place) return;
  const bool bound = d.s.jobs().at(place->job).pods[place->rank].state == PodState::kBound;
  if (bound) start_running(d, *place, d.s.now(), sign_of(d, pod));
}

// True for a non-GPU pod that counts on its node. Such a pod takes resources from its bind on, so a
// report that it is bound or runs changes nothing.
bool is_non_gpu(const Decision& d, const std::string& cluster_name, const PodRef& pod) {
  const state::Cluster* const cluster = d.s.clusters().find(cluster_name);
  return cluster != nullptr && d.observed.non_gpu_pods().node_of(cluster->id, pod.uid);
}

// Handles a report of a pod that has ended and still exists. Such a pod takes no resources and
// never runs again. A known pod may have been bound meanwhile, and ends at the reported time.
void end_seen(Decision& d, const state::Cluster& cluster, const in::PodSeen& i) {
  const PodRecord& pod = i.pod;
  const auto known = d.s.jobs().find(cluster.id, pod.uid);
  if (known && pod.bound_at_ms != 0 && d.s.nodes().find(cluster.id, pod.node)) {
    const state::Job& job = d.s.jobs().at(known->job);
    if (!job.pods[known->rank].is_bound()) {
      bind(d, job, known->rank, pod.node, bind_seen(d, pod));
    }
  }
  decide(d, in::PodGone{i.cluster, {pod.uid, {}, 0}, pod.ended_at_ms, pod.ended, pod.rejection});
}

// Stores which gates the pod still has. Gates are only removed, never added.
//   - If the pod has a hold and is not bound, Subak opened the gate. If Subak opened it for another
//     hold than the present one, the attempt cannot continue.
//   - If the pod waits, another party removed the gate. The scheduler now places the pod anywhere,
//     and its gang is incomplete.
//   - If the pod had a hold before, Subak's patch came late. The pod's controller, if any,
//     recreates the pod.
void note_gate(Decision& d, JobId id, std::uint32_t rank, const PodRecord& seen) {
  const state::Job& job = d.s.jobs().at(id);
  must(job.pods[rank].uid == seen.uid, "the gates are of the pod at this rank");
  const state::Pod& pod = job.pods[rank];
  const PodGate gate = gates_left(pod.gate, gate_of(seen));
  if (pod.is_bound() || gate == pod.gate) return;
  const bool opened = is_closed(pod.gate) && !is_closed(gate);
  d.emit(fact::PodGated{id, rank, gate});
  if (!opened || rank >= job.ranks()) return settle(d, id);
  if (pod.state == PodState::kHeld) {
    const std::string& node = d.s.fleet().node(pod.slot.node)->name;
    if (!seen.let_go_to.empty() && seen.let_go_to != node) lose_place(d, id, rank, Cause::kExpired);
    return;
  }
  settle(d, id);
  if (job.waits() && job.attempt > 0 && pod.controlled) ask_stop(d, job, Cause::kExpired, {});
}

}  // namespace

std::optional<state::PodPlace> find_named(Decision& d, const std::string& cluster_name,
                                          const PodRef& ref) {
  const state::Cluster* const cluster = d.s.clusters().find(cluster_name);
  if (cluster == nullptr) {
    d.refuse(no_cluster(cluster_name), cluster_name);
    return std::nullopt;
  }
  const auto found = d.s.jobs().find(cluster->id, ref);
  if (!found) {
    d.refuse(unknown_pod(ref), ref.uid);
    return std::nullopt;
  }
  d.tell(note::PodListed{cluster->id, *found});
  return found;
}

void decide(Decision& d, const in::PodSeen& i) {
  const state::Cluster* cluster = d.s.clusters().find(i.cluster);
  if (cluster == nullptr) {
    return d.refuse({ErrorCode::kNotFound, "cluster", i.cluster, "there is no such cluster"},
                    i.cluster);
  }
  const PodRecord& pod = i.pod;
  if (pod.uid.empty() || pod.ns.empty() || pod.name.empty()) {
    return d.refuse(
        {ErrorCode::kInvalid, "pod", pod.ns + "/" + pod.name, "want uid, namespace and name"},
        pod.uid);
  }
  if (pod.gang_size == 0 && pod.gang.empty()) {
    return d.refuse({ErrorCode::kInvalid, "pod.gang_size", std::to_string(pod.gang_size),
                     "want 1 to " + std::to_string(limits::kMaxPodsPerJob) +
                         ", or 0 beside the name of a gang of unknown size"},
                    pod.uid);
  }
  if (pod.ended != Cause::kNone) return end_seen(d, *cluster, i);
  d.tell(note::PodNoLongerBeforeNode{cluster->id, pod.uid});
  const AccountId account = account_of(d, cluster->id, pod.ns, pod.account);
  if (const auto known = d.s.jobs().find(cluster->id, pod.uid)) {
    const auto [id, rank] = *known;
    d.tell(note::PodListed{cluster->id, *known});
    if (pod.node.empty()) {
      see_size(d, id, pod);
      change_pod(d, *d.s.jobs().find(cluster->id, pod.uid), pod, account);
      const auto place = d.s.jobs().find(cluster->id, pod.uid);  // it may have a rank now
      if (place) note_gate(d, place->job, place->rank, pod);
    } else {
      bind(d, d.s.jobs().at(id), rank, pod.node, bind_seen(d, pod));
    }
    const bool early = !pod.node.empty() && !d.s.nodes().find(cluster->id, pod.node);
    if (pod.running && !early) see_running(d, cluster->id, pod);
    return;
  }
  if (pod.shape.kind == GpuKind::kNone) {
    if (pod.node.empty()) return;
    if (!d.s.nodes().find(cluster->id, pod.node)) return wait_for_node(d, cluster->id, pod.node);
    return see_non_gpu_pod(d, cluster->id, pod);
  }
  if (!pod.node.empty()) return add_foreign(d, *cluster, pod, account);
  const bool ours = pod.gated && !pod.other_manager && cluster->mode_of(pod.ns) == Mode::kEnforce;
  if (ours) queue_pod(d, *cluster, pod, account);
}

void decide(Decision& d, const in::PodBound& i) {
  if (is_non_gpu(d, i.cluster, i.pod)) return;
  const auto found = find_named(d, i.cluster, i.pod);
  if (!found) return;
  const auto [id, rank] = *found;
  d.tell(note::PodNoLongerBeforeNode{id.cluster(), early_name(i.pod)});
  const state::Job& job = *d.s.jobs().find(id);
  // Without uid and attempt, this may be a late report about an earlier hold. Such a report moves
  // no bound pod.
  if (i.pod.uid.empty() && i.pod.attempt == 0 && job.pods[rank].is_bound()) return;
  bind(d, job, rank, i.node, bind_said(d, id.cluster(), i.at_ms));
}

void decide(Decision& d, const in::PodRunning& i) {
  if (is_non_gpu(d, i.cluster, i.pod)) return;
  const auto found = find_named(d, i.cluster, i.pod);
  if (!found) return;
  const auto [id, rank] = *found;
  const state::Job& job = *d.s.jobs().find(id);
  if (job.pods[rank].state == PodState::kHeld) {
    const std::string node = d.s.fleet().node(job.pods[rank].slot.node)->name;
    bind(d, *d.s.jobs().find(id), rank, node, bind_said(d, id.cluster(), i.at_ms));
  }
  if (job.pods[rank].state != PodState::kBound) return;
  start_running(d, *found, our_time(d, i.at_ms), sign_of(d, id.cluster(), i.at_ms));
}

void decide_early(Decision& d, ClusterId cluster, const std::string& node) {
  must(!d.retold && d.s.nodes().find(cluster, node), "early reports wait for the node alone");
  d.retold = true;
  for (const state::EarlyPod& pod : d.observed.early_pods().on(cluster, node)) {
    d.tell(note::PodNoLongerBeforeNode{cluster, pod.pod});
    if (const auto* seen = std::get_if<in::PodSeen>(&pod.said)) decide(d, *seen);
    if (const auto* bound = std::get_if<in::PodBound>(&pod.said)) decide(d, *bound);
    d.out.reply.error.reset();  // the reporter was told that it is recorded
  }
  d.retold = false;
}

}  // namespace subak::decide

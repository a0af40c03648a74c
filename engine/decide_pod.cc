// Decisions about what a cluster's edge has seen: pods that queue, bind, run and end.
#include <algorithm>
#include <cassert>

#include "core/limits.h"
#include "core/stored_size.h"
#include "engine/impl.h"

namespace subak {
namespace {

Error unknown_pod(const PodRef& ref) {
  const std::string got =
      ref.uid.empty() ? text::job_id_text(ref.job) + "/" + std::to_string(ref.rank) : ref.uid;
  return {ErrorCode::kNotFound, "pod", got,
          "no live pod has this uid, or this rank in this reservation of the job"};
}

std::string gang_name(const PodRecord& pod) {
  return pod.ns + "/" + (pod.gang.empty() ? pod.name : pod.gang);
}

}  // namespace

void Turn::mark_seen(ClusterId cluster, JobId job, std::uint32_t rank) {
  const auto list = s_.lists.find(cluster);
  if (list != s_.lists.end()) list->second.pods.insert({job, rank});
}

// The account that pays: the pod's label if it is within its namespace's account, else that
// account.
AccountId Turn::account_of_pod(const Cluster& cluster, const PodRecord& pod) const {
  const AccountId of_ns = s_.tree.find_namespace(cluster.name, pod.ns);
  const AccountId named = pod.account.empty() ? AccountId() : s_.tree.find(pod.account);
  if (!of_ns) return named && !s_.tree.node(named).spec.user ? named : kUnassigned;
  for (AccountId a = named; a; a = s_.tree.node(a).parent) {
    if (a == of_ns && !s_.tree.node(named).spec.user) return named;
  }
  return of_ns;
}

void Turn::on(const in::PodSeen& i) {
  Cluster* cluster = s_.find_cluster(i.cluster);
  if (cluster == nullptr) {
    return refuse({ErrorCode::kNotFound, "cluster", i.cluster, "there is no such cluster"},
                  i.cluster);
  }
  const PodRecord& pod = i.pod;
  if (pod.uid.empty() || pod.ns.empty() || pod.name.empty()) {
    return refuse(
        {ErrorCode::kInvalid, "pod", pod.ns + "/" + pod.name, "want uid, namespace and name"},
        pod.uid);
  }
  if (pod.gang_size == 0) {
    return refuse({ErrorCode::kInvalid, "pod.gang_size", std::to_string(pod.gang_size),
                   "want 1 to " + std::to_string(limits::kMaxPodsPerJob)},
                  pod.uid);
  }
  if (const auto known = s_.uids.find(pod.uid); known != s_.uids.end()) {
    const auto [id, rank] = known->second;
    mark_seen(cluster->id, id, rank);
    if (!pod.node.empty()) bind(*s_.find_job(id), rank, pod.node, pod.bound_at_ms);
    if (pod.running) on(in::PodRunning{i.cluster, {pod.uid, {}, 0}, 0});
    return;
  }
  const AccountId account = account_of_pod(*cluster, pod);
  if (!pod.node.empty()) return add_foreign(*cluster, pod, account);
  const bool ours = pod.gated && !pod.other_manager && pod.shape.kind != GpuKind::kNone &&
                    account != kUnassigned && cluster->mode_of(pod.ns) == Mode::kEnforce;
  if (ours) queue_pod(*cluster, pod, account);
}

void Turn::queue_pod(Cluster& cluster, const PodRecord& pod, AccountId account) {
  const auto key = std::pair(cluster.id, gang_name(pod));
  auto gang = s_.gangs.find(key);
  const Job* job = gang == s_.gangs.end() ? nullptr : s_.find_job(gang->second);
  const bool open = job != nullptr && !job->cancelling &&
                    (job->state == JobState::kIncomplete || job->state == JobState::kHeld);
  if (job != nullptr && !open) {  // its gang has started without it: it waits by itself
    PodRecord alone = pod;
    alone.gang = gang_name(pod).substr(pod.ns.size() + 1) + "#" + pod.uid;
    alone.gang_size = 1;
    alone.rank = -1;
    return queue_pod(cluster, alone, account);
  }
  if (job == nullptr) {
    fact::JobCreated created;
    created.leaf = leaf_of(account, pod.user);
    created.id = JobId(cluster.id, cluster.next_job);
    created.origin = JobOrigin::kPods;
    created.name = key.second;
    created.request.topology = pod.topology;
    created.request.prefer = pod.prefer;
    created.request.segment = pod.segment;
    created.gang_size = pod.gang_size;
    created.priority = pod.priority;
    created.time_limit_ms = pod.time_limit_ms;
    const JobId id = created.id;
    emit(std::move(created));
    job = s_.find_job(id);
  }
  auto is_free = [&](std::uint32_t r) {
    return r >= job->pods.size() || job->pods[r].uid.empty() ||
           job->pods[r].state == PodState::kGone;
  };
  std::uint32_t rank = pod.rank >= 0 ? static_cast<std::uint32_t>(pod.rank) : 0;
  if (rank >= job->gang_size || !is_free(rank)) rank = 0;
  while (!is_free(rank)) ++rank;
  const JobId id = job->id;
  if (rank >= job->gang_size) {
    return refuse({ErrorCode::kPrecondition, "pod.gang", gang_name(pod),
                   "the gang already has its " + std::to_string(job->gang_size) + " pods"},
                  pod.uid);
  }
  if (auto error = check_gang_bytes(*job, rank, pod.shape)) return refuse(*error, pod.uid);
  fact::PodAdded added;
  added.job = id;
  added.rank = rank;
  added.uid = pod.uid;
  added.name = pod.ns + "/" + pod.name;
  added.shape = pod.shape;
  added.controlled = pod.controlled;
  emit(std::move(added));
  mark_seen(cluster.id, id, rank);
  std::uint32_t there = 0;
  while (there < job->gang_size && !is_free(there)) ++there;
  if (there == job->gang_size && job->state == JobState::kIncomplete) {
    fact::JobMoved moved;
    moved.id = id;
    moved.to = JobState::kQueued;
    emit(std::move(moved));
  }
}

// The gang's request, once it is whole, is one record in which neighbours that ask for the same
// count once. Nothing is interned for a pod that may be refused.
std::optional<Error> Turn::check_gang_bytes(const Job& job, std::uint32_t rank,
                                            const PodShape& shape) const {
  if (job.shape) return std::nullopt;  // it was whole once: its request stays as it is
  std::size_t bytes = 0;
  ShapeId before;
  bool after_new = false;
  const auto add_new = [&] {
    if (!before || !(s_.alone(before) == shape)) bytes += stored_bytes(shape);
    after_new = true;
  };
  for (std::uint32_t r = 0; r < job.pods.size(); ++r) {
    if (r == rank) {
      add_new();
    } else if (const ShapeId here = job.pods[r].shape; here) {
      const bool same = after_new ? s_.alone(here) == shape : here == before;
      if (!same) bytes += s_.alone_bytes(here);
      before = here;
      after_new = false;
    }
  }
  if (rank >= job.pods.size()) add_new();
  if (bytes <= limits::kMaxJobRequestBytes) return std::nullopt;
  return Error{ErrorCode::kInvalid, "pod.shape", std::to_string(bytes) + " bytes with its gang's",
               "want at most " + std::to_string(limits::kMaxJobRequestBytes) +
                   " bytes as they are stored; neighbours that ask for the same count once"};
}

// Bound without us: it takes capacity and is charged, from when we first saw it.
void Turn::add_foreign(Cluster& cluster, const PodRecord& pod, AccountId account) {
  const NodeId node = s_.find_node(cluster.id, pod.node);
  if (!node) {
    return refuse({ErrorCode::kNotFound, "pod.node", pod.node, "no such node has been seen"},
                  pod.uid);
  }
  const auto key = std::pair(cluster.id, gang_name(pod));
  const auto gang = s_.gangs.find(key);
  const Job* job = gang == s_.gangs.end() ? nullptr : s_.find_job(gang->second);
  const bool full = job != nullptr && job->pods.size() >= limits::kMaxPodsPerJob;
  if (job != nullptr && (job->state != JobState::kRunning || full)) {
    PodRecord alone = pod;
    alone.gang = gang_name(pod).substr(pod.ns.size() + 1) + "#" + pod.uid;
    return add_foreign(cluster, alone, account);
  }
  if (job == nullptr) {
    fact::JobCreated created;
    created.leaf = leaf_of(account, pod.user);
    created.id = JobId(cluster.id, cluster.next_job);
    created.origin = cluster.mode_of(pod.ns) == Mode::kEnforce && !cluster.synced && pod.gated
                         ? JobOrigin::kAdopted
                         : JobOrigin::kForeign;
    created.state = JobState::kRunning;
    created.name = key.second;
    created.gang_size = pod.gang_size;
    const JobId id = created.id;
    emit(std::move(created));
    job = s_.find_job(id);
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
  const ShapeId shape = s_.intern_alone(cluster.id, pod.shape);
  added.slot = s_.fleet.adopt_slot(shape, 0, node);
  added.bound_at_ms = s_.now;
  const JobId id = job->id;
  emit(std::move(added));
  mark_seen(cluster.id, id, rank);
  if (pod.running) emit(fact::PodRunning{id, rank, s_.now});
}

void Turn::on(const in::PodBound& i) {
  const auto found = s_.find_pod(i.pod);
  if (!found) return refuse(unknown_pod(i.pod), i.pod.uid);
  const auto [id, rank] = *found;
  mark_seen(id.cluster(), id, rank);
  Job& job = *s_.find_job(id);
  // Without uid and attempt it may be late news of an earlier place: that moves nobody.
  if (i.pod.uid.empty() && i.pod.attempt == 0 && job.pods[rank].is_bound()) return;
  bind(job, rank, i.node, i.at_ms);
}

void Turn::bind(Job& job, std::uint32_t rank, const std::string& node_name, TimeMs at) {
  const Pod& pod = job.pods[rank];
  const bool unseen = pod.state == PodState::kWaiting && pod.uid.empty();
  if (pod.state == PodState::kGone || unseen) {
    return refuse({ErrorCode::kPrecondition, "pod", text::job_id_text(job.id),
                   "the pod holds no place that it could be bound to"},
                  job.name);
  }
  const NodeId node = s_.find_node(job.id.cluster(), node_name);
  if (!node) {
    return refuse({ErrorCode::kNotFound, "node", node_name, "no such node has been seen"},
                  job.name);
  }
  if (pod.is_bound()) return rebind(job, rank, node);
  if (pod.state ==
      PodState::kWaiting) {  // it got past its gate: the world decided, we account for it
    PodRecord stray;
    stray.uid = pod.uid;
    const auto slash = pod.name.find('/');
    stray.ns = pod.name.substr(0, slash);
    stray.name = pod.name.substr(slash + 1);
    stray.gang = stray.name + "#" + pod.uid;
    stray.shape = s_.pod_shape(pod);
    stray.controlled = pod.controlled;
    stray.node = node_name;
    const JobId id = job.id;
    const AccountId leaf = job.leaf;
    end_pod(id, rank, s_.now, Outcome::kNone);
    return add_foreign(s_.clusters.at(id.cluster()), stray, leaf);
  }
  at = at == 0 ? s_.now : std::clamp(at, pod.since_ms, s_.now);
  PodSlot slot = pod.slot;
  if (node != slot.node) {
    slot = s_.fleet.adopt_slot(pod.shape, pod.shape_rank, node);
    at = s_.now;  // until now it was held where we had put it
  }
  charge(job, rank, at, UsageState::kHeld, job.leaf);
  emit(fact::PodBound{job.id, rank, at, slot});
}

// We took it to be elsewhere: it ran before we heard where. Its former place is charged until now.
void Turn::rebind(const Job& job, std::uint32_t rank, NodeId node) {
  const Pod& pod = job.pods[rank];
  if (pod.slot.node == node) return;
  const bool running = pod.state == PodState::kRunning;
  const PodSlot slot = s_.fleet.adopt_slot(pod.shape, pod.shape_rank, node);
  charge_end(job, rank, s_.now);
  emit(fact::PodBound{job.id, rank, s_.now, slot});
  if (running) emit(fact::PodRunning{job.id, rank, s_.now});
}

void Turn::on(const in::PodRunning& i) {
  const auto found = s_.find_pod(i.pod);
  if (!found) return refuse(unknown_pod(i.pod), i.pod.uid);
  const auto [id, rank] = *found;
  mark_seen(id.cluster(), id, rank);
  const Job& job = *s_.find_job(id);
  if (job.pods[rank].state == PodState::kHeld) {
    const std::string node = s_.fleet.node(job.pods[rank].slot.node)->name;
    bind(*s_.find_job(id), rank, node, i.at_ms);
  }
  if (job.pods[rank].state != PodState::kBound) return;
  const TimeMs at = i.at_ms == 0 ? s_.now : std::min(i.at_ms, s_.now);
  emit(fact::PodRunning{id, rank, at});
}

void Turn::on(const in::PodGone& i) {
  const auto found = s_.find_pod(i.pod);
  if (!found) {
    // A pod that we never charged, or one that is reported gone twice: both are nothing new.
    return;
  }
  const auto [id, rank] = *found;
  const Pod& pod = s_.find_job(id)->pods[rank];
  if (pod.state == PodState::kGone || (pod.uid.empty() && pod.state == PodState::kWaiting)) return;
  const TimeMs at = i.ended_at_ms == 0 ? s_.now : std::min(i.ended_at_ms, s_.now);
  end_pod(id, rank, at, i.outcome);
}

void Turn::end_pod(JobId id, std::uint32_t rank, TimeMs at, Outcome outcome) {
  const Job& job = *s_.find_job(id);
  const Pod& pod = job.pods[rank];
  at = pod.holds_slot() ? std::clamp(at, pod.since_ms, s_.now) : s_.now;
  if (pod.state == PodState::kHeld) charge(job, rank, at, UsageState::kHeldUnbound, kPlatform);
  if (pod.is_bound()) {
    outcome == Outcome::kRejected ? charge(job, rank, at, UsageState::kHeldUnbound, kPlatform)
                                  : charge_end(job, rank, at);
  }
  emit(fact::PodGone{id, rank, at, outcome});
  finish_if_over(id, Outcome::kSucceeded);
}

// One ledger row for what the pod held since its last one. Pods without GPUs cost nothing.
void Turn::charge(const Job& job, std::uint32_t rank, TimeMs to, UsageState state,
                  AccountId payer) {
  const Pod& pod = job.pods[rank];
  if (pod.slot.milligpu == 0 || to <= pod.since_ms) return;
  LedgerRow row;
  row.allocation = {job.id, rank, job.attempt};
  row.from_ms = pod.since_ms;
  row.to_ms = to;
  row.holder = job.leaf;
  row.payer = payer;
  row.state = state;
  row.node = pod.slot.node;
  row.product = s_.product_of(pod.slot);
  row.milligpu = pod.slot.milligpu;
  emit(fact::Charged{std::move(row)});
}

// The last row of a bound pod; on a node that went silent the platform pays from its last heartbeat
// on.
void Turn::charge_end(const Job& job, std::uint32_t rank, TimeMs to) {
  const Pod& pod = job.pods[rank];
  const NodeSpec* node = s_.fleet.node(pod.slot.node);
  TimeMs good_until = to;
  if (node != nullptr && !node->ready && node->not_ready_since_ms > 0) {
    good_until = std::clamp(node->not_ready_since_ms, pod.since_ms, to);
  }
  const bool foreign = job.origin == JobOrigin::kForeign;
  charge(job, rank, good_until, foreign ? UsageState::kForeign : UsageState::kUsed, job.leaf);
  charge(job, rank, to, UsageState::kLost, kPlatform);
}

}  // namespace subak

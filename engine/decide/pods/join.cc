// Decisions about pods that join a job: which job, which rank, and the size of its gang.
#include "engine/decide/pods/join.h"

#include <algorithm>
#include <set>
#include <utility>

#include "accounting/quota/entitlement.h"
#include "core/limits.h"
#include "core/must.h"
#include "engine/derive/entitled_place.h"
#include "model/policy.h"

namespace subak::decide {

std::string job_name_of(const PodRecord& pod) {
  return pod.ns + "/" + (pod.gang.empty() ? pod.name : pod.gang);
}

PodGate gate_of(const PodRecord& pod) {
  const PodGate ours = pod.gated ? PodGate::kClosed : PodGate::kOpen;
  const PodGate others = pod.foreign_gates ? PodGate::kForeign : PodGate::kOpen;
  return static_cast<PodGate>(static_cast<unsigned>(ours) | static_cast<unsigned>(others));
}

namespace {

// Returns the job that this pod continues: a job of one pod whose pod the scheduler refused, and
// that waits until its controller (PodRecord::owner) recreates the pod. The result is the oldest
// such job with the same request. None: there is no such job. O(jobs that wait for a pod).
JobId awaiting_pod(const Decision& d, ClusterId cluster, const PodRecord& pod) {
  const std::set<JobId>& waiting = d.s.jobs().sets().awaiting_pods();
  const auto it = std::find_if(waiting.begin(), waiting.end(), [&](JobId id) {
    const state::Job& job = d.s.jobs().at(id);
    must(job.pod_origin != nullptr, "a job that awaits a pod is made of pods");
    const bool its =
        id.cluster() == cluster && job.pod_origin->owner == pod.owner && job.ns() == pod.ns;
    return its && job.pods.size() == 1 && job.pods[0].shape &&
           state::shape_of(d.s.fleet(), job.pods[0]) == pod.shape;
  });
  return it == waiting.end() ? JobId() : *it;
}

// Returns the job of the pod's owner, which is or was parked, if the pod belongs to it. A gang gets
// all pods of the owner. A job of one pod gets the first pod that comes. nullptr: there is none.
const state::Job* parked_job_of(const Decision& d, ClusterId cluster, const PodRecord& pod) {
  if (pod.owner.empty() || !pod.node.empty()) return nullptr;
  const state::Job* const job = d.s.jobs().find(d.s.jobs().gangs().of_parked(cluster, pod.owner));
  if (job == nullptr || job->ends_for_good()) return nullptr;
  if (job->gang) return pod.gang.empty() ? nullptr : job;
  const bool waits_for_pod = job->waits() || job->state == JobState::kStarting;
  return pod.gang.empty() && waits_for_pod && job->awaits_parked_pods() ? job : nullptr;
}

// True if the holds of the job wait for pods of a resumed owner.
bool awaits_pods(const state::Job& job) {
  return job.parking() != Parking::kNone && job.state == JobState::kStarting &&
         std::any_of(job.pods.begin(), job.pods.end(),
                     [](const state::Pod& p) { return p.is_expected() && p.holds_slot(); });
}

// A pod of a resumed owner fits no hold of its job, so it differs from the template. The job soon
// gives its holds up, and waits for a placement of the pods that have come.
void shorten_hold(Decision& d, const state::Job& job) {
  const TimeMs until_ms = d.s.now() + limits::kMisfitHoldMs;
  if (!awaits_pods(job) || job.until_ms <= until_ms) return;
  d.emit(fact::JobParked{job.id, job.parking(), until_ms});
}

}  // namespace

const state::Job* find_gang(const Decision& d, ClusterId cluster, const PodRecord& pod) {
  if (const state::Job* const parked = parked_job_of(d, cluster, pod)) return parked;
  if (pod.gang.empty()) {
    if (pod.owner.empty() || !pod.node.empty()) return nullptr;
    const JobId id = awaiting_pod(d, cluster, pod);
    return id ? d.s.jobs().find(id) : nullptr;
  }
  const JobId id = d.s.jobs().gangs().of_gang(cluster, job_name_of(pod), pod.owner);
  must(!id || id.cluster() == cluster, "a gang is within its cluster");
  return id ? d.s.jobs().find(id) : nullptr;
}

fact::JobCreated job_of(Decision& d, const state::Cluster& cluster, const PodRecord& pod,
                        AccountId account, JobOrigin origin) {
  fact::JobCreated created;
  created.leaf = leaf_of(d, account, pod.user);
  created.id = JobId(cluster.id, cluster.next_job);
  created.origin = origin;
  created.name = job_name_of(pod);
  created.gang_size = pod.gang_size;
  created.gang = !pod.gang.empty();
  created.replaced_alone = created.gang && pod.replaced_alone;
  created.owner = pod.owner;
  created.of_pods.workload = pod.owners.workload;
  created.request.terms.compute_domain = pod.terms.compute_domain;
  if (account == kUnassigned) {
    created.account = pod.account;
    created.user = pod.user;
  }
  return created;
}

namespace {

// The pod's owner sets the size of its gang, so another size is no contradiction.
bool follows_owner(const PodRecord& pod) { return pod.owners.size_of_owner || pod.replaced_alone; }

// Returns the number of pods that start together now. Pods that became jobs of their own do not
// count.
std::uint32_t size_now(const Decision& d, ClusterId cluster, const PodRecord& pod) {
  if (!follows_owner(pod) || pod.gang_size == 0) return pod.gang_size;
  const std::size_t apart = d.s.jobs().gangs().apart(cluster, job_name_of(pod), pod.owner).size();
  const std::uint32_t size =
      pod.gang_size > apart ? pod.gang_size - static_cast<std::uint32_t>(apart) : 1;
  must(size > 0 && size <= pod.gang_size, "the rest of a gang is a part of it");
  return size;
}

// Gives a waiting gang the size that this pod reports. A gang without pods has the size of the next
// pod that joins: its pods were created again, maybe with another size.
void resize_gang(Decision& d, JobId id, const PodRecord& pod) {
  const state::Job& job = d.s.jobs().at(id);
  const std::uint32_t size = size_now(d, id.cluster(), pod);
  const bool may = job.gang && job.origin == JobOrigin::kPods && job.waits() &&
                   (follows_owner(pod) || job.is_unsized() || job.pods_live() == 0);
  if (!may || size == 0 || size == job.gang_size) return;
  if (job.state == JobState::kQueued) {
    d.emit(fact::JobMoved{id, JobState::kIncomplete, Cause::kNone, {}, JobState::kIncomplete});
  }
  d.emit(fact::GangResized{id, size});
  must(job.gang_size == size && !job.shape, "a resized gang is not complete");
}

// True if the job is new and its account does not accept it yet. The rest of an indexed Job that
// existed before is not new.
bool is_not_accepted(const Decision& d, const fact::JobCreated& job) {
  if (job.leaf == kUnassigned || derive::accepts_job(d.s, job.leaf)) return false;
  const state::Job* const before =
      d.s.jobs().find(d.s.jobs().gangs().of_owner(job.id.cluster(), job.name, job.owner));
  return before == nullptr || before->awaits_resume();
}

// A key that the webhook would have refused counts as not set.
Priority priority_of(const Decision& d, AccountId account, const PodRecord& pod) {
  const Priority of_spec{pod.priority, false};
  if (pod.priority_class.empty()) return of_spec;
  const std::string path = account == kUnassigned ? "" : d.s.tree().node(account).spec.path;
  const auto priority = read_priority(d.s.policy(), path, pod.priority_class);
  return priority ? *priority : of_spec;
}

}  // namespace

fact::JobCreated new_job(Decision& d, const state::Cluster& cluster, const PodRecord& pod,
                         AccountId account) {
  fact::JobCreated created = job_of(d, cluster, pod, account, JobOrigin::kPods);
  created.gang_size = size_now(d, cluster.id, pod);
  created.request.terms = pod.terms;
  const Priority priority = priority_of(d, account, pod);
  created.priority = priority.value;
  created.has_class = priority.has_class;
  created.time_limit_ms = pod.time_limit_ms;
  if (pod.created_at_ms < d.s.now()) created.submit_ms = pod.created_at_ms;
  // The pods of a parked owner wait since the owner waits.
  const state::Job* const parked =
      pod.owner.empty() ? nullptr
                        : d.s.jobs().find(d.s.jobs().gangs().of_parked(cluster.id, pod.owner));
  if (parked != nullptr && parked->submit_ms < d.s.now()) created.submit_ms = parked->submit_ms;
  created.of_pods.awaits_resume = is_not_accepted(d, created);
  return created;
}

namespace {

const state::Job* create_job(Decision& d, fact::JobCreated created) {
  const JobId id = created.id;
  must(d.s.jobs().find(id) == nullptr, "a new job has a new number");
  d.emit(std::move(created));
  const state::Job* const job = d.s.jobs().find(id);
  must(job != nullptr && job->waits(), "a new job of pods waits");
  return job;
}

// Returns in words how the pod contradicts the gang that it joins, with both values. Empty: the pod
// agrees with the gang.
std::string dispute_of(const Decision& d, const state::Job& job, const PodRecord& pod,
                       AccountId account) {
  const auto says = [&](const char* what, const std::string& mine, const std::string& gangs) {
    return "pod " + pod.ns + "/" + pod.name + " says " + what + " " + mine + ", its gang has " +
           gangs;
  };
  const bool counts = !follows_owner(pod) && pod.gang_size != 0 && !job.is_unsized();
  if (counts && pod.gang_size != job.gang_size) {
    return says("size", std::to_string(pod.gang_size), std::to_string(job.gang_size));
  }
  const GangTerms gangs = state::request_of(d.s.fleet(), job).terms;
  if (pod.terms != gangs) return says("topology", terms_text(pod.terms), terms_text(gangs));
  AccountId payer = job.leaf;
  if (payer == kUnassigned || account == kUnassigned) return "";
  if (d.s.tree().node(payer).spec.user) payer = d.s.tree().node(payer).parent;
  // Without a label the pod has its namespace's account, which may have changed since its gang
  // began.
  const bool of_namespace = pod.account.empty() && !is_below(d.s.tree(), payer, account);
  if (payer == account || of_namespace) return "";
  return says("account", d.s.tree().node(account).spec.path, d.s.tree().node(payer).spec.path);
}

fact::PodAdded added_to(const Decision& d, const state::Job& job, std::uint32_t rank,
                        const PodRecord& pod, AccountId account) {
  must(!pod.uid.empty(), "a pod that joins has a uid");
  fact::PodAdded added;
  added.job = job.id;
  added.rank = rank;
  added.uid = pod.uid;
  added.name = pod.ns + "/" + pod.name;
  added.shape = pod.shape;
  added.controlled = pod.controlled;
  added.dispute = dispute_of(d, job, pod, account);
  added.gate = gate_of(pod);
  added.order = order_of(pod);
  added.grace_ms = pod.grace_ms;
  return added;
}

// True if some rank had a hold for the pod. The pod then takes this hold.
bool fill_place(Decision& d, const state::Job& job, const PodRecord& pod, AccountId account) {
  const std::optional<std::uint32_t> rank = kept_place(d, job, pod);
  if (!rank) return false;
  fact::PodAdded added = added_to(d, job, *rank, pod, account);
  if (!added.dispute.empty()) return false;
  added.until_ms = std::max(job.until_ms, d.s.now() + d.s.policy().hold_ms);
  d.emit(std::move(added));
  must(job.pods[*rank].holds_slot() && !job.pods[*rank].is_expected(), "the pod has its hold");
  d.tell(note::PodListed{job.id.cluster(), {job.id, *rank}});
  d.act_on(job.id);
  return true;
}

// True if the pod came after the start of an inferred gang: it starts by itself.
bool goes_apart(const state::Job& gang, const PodRecord& pod) {
  const bool started = gang.state == JobState::kStarting || gang.state == JobState::kRunning;
  return started && pod.replaced_alone && !awaits_pods(gang);
}

void queue_apart(Decision& d, const state::Cluster& cluster, const PodRecord& pod,
                 AccountId account) {
  fact::JobCreated created = alone_of_gang(new_job(d, cluster, pod, account));
  const JobId id = created.id;
  const state::Job& job = *create_job(d, std::move(created));
  must(job.is_apart() && job.gang_size == 1, "a late pod of a gang is a job of its own");
  fact::PodAdded added = added_to(d, job, 0, pod, account);
  added.dispute.clear();
  d.emit(std::move(added));
  d.tell(note::PodListed{id.cluster(), {id, 0}});
  settle(d, id);
}

}  // namespace

fact::JobCreated alone_of_gang(fact::JobCreated job) {
  job.gang = false;
  job.replaced_alone = true;  // Job::is_apart()
  job.gang_size = 1;
  job.request.terms.segment = 0;
  job.request.terms.balanced = false;
  job.request.terms.spare = 0;
  if (job.request.terms.topology == Topology::kNvlinkExclusive)
    job.request.terms.topology = Topology::kNvlink;
  return job;
}

void queue_pod(Decision& d, const state::Cluster& cluster, const PodRecord& pod,
               AccountId account) {
  const state::Job* job = find_gang(d, cluster.id, pod);
  if (job != nullptr && fill_place(d, *job, pod, account)) return;
  const bool apart = job != nullptr && goes_apart(*job, pod);
  if (job != nullptr) shorten_hold(d, *job);
  const bool joins = job != nullptr && job->origin == JobOrigin::kPods && !apart;
  if (auto full = too_many_wait(d, cluster.id, pod, account, joins))
    return d.refuse(*full, pod.uid);
  if (apart) return queue_apart(d, cluster, pod, account);
  if (job == nullptr || job->origin != JobOrigin::kPods) {
    job = create_job(d, new_job(d, cluster, pod, account));
  }
  const JobId id = job->id;
  must(job->origin == JobOrigin::kPods, "a pod joins a job of pods");
  resize_gang(d, id, pod);
  const std::uint32_t rank = rank_for(*job, pod);
  if (rank - std::min(rank, job->gang_size) >= limits::kMaxPodsPerJob) {
    return d.refuse({ErrorCode::kExhausted, "pod.gang", job_name_of(pod),
                     "at most " + std::to_string(limits::kMaxPodsPerJob) +
                         " pods may wait for a rank of one gang"},
                    pod.uid);
  }
  if (auto error = check_gang_bytes(d, *job, rank, pod.shape)) return d.refuse(*error, pod.uid);
  if (asks_anew(d, *job, pod.shape)) job_changed(d, id);
  if (job->state == JobState::kQueued && rank < job->gang_size) {  // the pod was expected
    d.emit(fact::JobMoved{id, JobState::kIncomplete, Cause::kNone, {}, JobState::kIncomplete});
  }
  d.emit(added_to(d, *job, rank, pod, account));
  must(job->pods[rank].uid == pod.uid, "the pod has its rank");
  d.tell(note::PodListed{cluster.id, {id, rank}});
  settle(d, id);
}

void change_pod(Decision& d, const state::PodPlace& place, const PodRecord& pod,
                AccountId account) {
  const state::Job& job = d.s.jobs().at(place.job);
  const state::Pod& known = job.pods[place.rank];
  must(known.uid == pod.uid, "the record is of the pod at this rank");
  // The pods beyond a running gang wait for the next attempt.
  const bool waits =
      known.state == PodState::kWaiting && (job.waits() || place.rank >= job.ranks());
  const bool may = pod.gated && pod.shape.kind != GpuKind::kNone;
  if (!waits || !may) return;
  const bool whole = job.shape && place.rank < job.ranks();
  const bool agrees = whole || job.is_apart();
  const std::string dispute = agrees ? known.dispute : dispute_of(d, job, pod, account);
  const bool same = known.dispute == dispute && known.order == order_of(pod);
  if (same && state::shape_of(d.s.fleet(), known) == pod.shape) return;
  if (auto error = check_gang_bytes(d, job, place.rank, pod.shape))
    return d.refuse(*error, pod.uid);
  const bool asks = !(state::shape_of(d.s.fleet(), known) == pod.shape);
  d.emit(fact::PodChanged{place.job, place.rank, pod.shape, dispute, order_of(pod)});
  if (asks && job.waits()) job_changed(d, place.job);
  settle(d, place.job);
}

void see_size(Decision& d, JobId id, const PodRecord& pod) {
  if (!pod.gated || pod.gang.empty() || d.s.jobs().at(id).is_apart()) return;
  const std::uint32_t before = d.s.jobs().at(id).gang_size;
  resize_gang(d, id, pod);
  if (d.s.jobs().at(id).gang_size != before) settle(d, id);
}

}  // namespace subak::decide

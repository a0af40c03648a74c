#include "server/edge/writes/plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "server/edge/writes/domain_state.h"

namespace subak {
namespace {

// True if the pod has an owner that Subak may suspend, such as a Job, and that was not seen yet. An
// eviction would count as the Job's failure.
bool awaits_owner(const ClusterCache& cache, const GpuPodEntry& pod) {
  const OwnerKindRow* const row = find_owner_kind(pod.owner_api, pod.owner_kind);
  return row != nullptr && row->suspends && cache.owners().find(pod.owner_uid) == nullptr;
}

// True if its owner, or the owner's owner, ends its pods itself.
bool owner_ends(const ClusterCache& cache, const GpuPodEntry& pod) {
  const OwnerEntry* const owner = cache.owners().find(pod.owner_uid);
  if (owner == nullptr) return false;
  const OwnerEntry* const parent = cache.owners().find(owner->parent);
  return owner->ended || (parent != nullptr && parent->ended);
}

// True if the pod's gate was open when its hold ended, and the pod was bound afterwards. Such a pod
// may run on, except in a declared gang.
bool has_arrived(const GpuPodEntry& pod, Cause cause) {
  const bool declared = pod.gang && !pod.runs_alone;
  return pod.bound && !declared && (cause == Cause::kExpired || cause == Cause::kUnschedulable);
}

// Bound pods to evict, by owner and by the owner's owner.
using Ending = std::map<std::string, std::size_t>;

Ending ending_pods(const ClusterCache& cache, const WantedJobs& wanted) {
  Ending ending;
  for (const auto& [id, job] : wanted) {
    if (job.effect.kind != EffectKind::kEvict) continue;
    for (const EffectPod& pod : job.effect.pods) {
      const PodEntry* const entry = cache.find_gpu_pod(pod.uid);
      if (entry == nullptr || entry->gpu->ended || entry->gpu->going || !entry->gpu->bound)
        continue;
      if (has_arrived(*entry->gpu, job.effect.cause)) continue;
      const OwnerEntry* const owner = cache.owners().find(entry->gpu->owner_uid);
      ++ending[entry->gpu->owner_uid];
      if (owner != nullptr && !owner->parent.empty()) ++ending[owner->parent];
    }
  }
  return ending;
}

// Returns the owner to suspend so that the pod goes without counting as failed; empty: there is
// none. Suspending ends all pods of the owner. So it is only right for a gang that cannot run
// without the pod.
std::string to_suspend(const ClusterCache& cache, const GpuPodEntry& pod, const Ending& ending) {
  const OwnerEntry* const owner = cache.owners().find(pod.owner_uid);
  if (owner == nullptr || !owner->may_suspend()) return {};
  const OwnerEntry* const parent = cache.owners().find(owner->parent);
  const bool below = parent != nullptr;
  if (below && !parent->may_suspend()) return {};  // its parent would resume it
  const std::string& top = below ? owner->parent : pod.owner_uid;
  if (pod.gang && !pod.runs_alone) return top;
  if (below && !pod.gang) return {};
  const auto found = ending.find(top);
  const std::size_t bound = cache.pods_of(top).bound;
  const bool all_end = bound <= (found == ending.end() ? 0 : found->second);
  const bool none_bound = bound == 0;
  return none_bound || (all_end && (pod.gang || owner->one_pod)) ? top : std::string();
}

class Planner {
 public:
  Planner(const ClusterCache& cache, const Fence& fence, const Attempts& attempts,
          std::int64_t monotonic_ms)
      : cache_(cache), fence_(fence), attempts_(attempts), monotonic_ms_(monotonic_ms) {}

  // A pod that an outdated patch may still release gets the mark first. A pod that was released
  // blocks its node.
  void guard() {
    for (const auto& [uid, guarded] : fence_.pods()) {
      guarded_jobs_.insert(guarded.job);
      const PodEntry* const entry = cache_.find_gpu_pod(uid);
      if (entry == nullptr) continue;
      const GpuPodEntry& pod = *entry->gpu;
      if (!pod.gated) {
        guarded_nodes_.insert(pod.bound ? entry->node : pod.let_go_to);
        continue;
      }
      guards_all_ = guards_all_ || guarded.anywhere;
      guarded_nodes_.insert(guarded.nodes.begin(), guarded.nodes.end());
      if (!may_try(uid)) continue;
      chosen_.insert(uid);
      KubeWrite write{WriteKind::kKeep, uid, guarded.job, "", Cause::kNone, guarded.attempt, 1};
      add(kBack, 0, write);
    }
  }

  // Plans the releases of a job. False: the job needs no more writes.
  bool open(const Wanted& wanted) {
    std::vector<KubeWrite> writes;
    bool some_open = false, left = false;
    for (const EffectPod& pod : wanted.effect.pods) {
      const PodEntry* const entry = cache_.find_gpu_pod(pod.uid);
      if (entry == nullptr || entry->gpu->ended || entry->gpu->going) continue;
      some_open = some_open || !entry->gpu->gated;
      if (!entry->gpu->gated) continue;
      left = true;
      const bool withdrawn = fence_.is_withdrawn(pod.uid, wanted.effect.job, wanted.effect.attempt);
      if (withdrawn || !entry->gpu->asks_gpu || entry->gpu->foreign_gates || is_guarded(pod.node))
        continue;
      if (!has_domain(wanted, pod, *entry->gpu)) continue;
      if (!may_try(pod.uid) || chosen_.contains(pod.uid)) continue;
      writes.push_back({WriteKind::kRelease,
                        pod.uid,
                        wanted.effect.job,
                        pod.node,
                        Cause::kNone,
                        wanted.effect.attempt,
                        wanted.effect.pods.size(),
                        {},
                        wanted.effect.loan});
    }
    for (KubeWrite& write : writes) add(some_open ? kHalfOpen : kClosed, wanted.order, write);
    return left;
  }

  bool take_back(const Wanted& wanted, const Ending& ending) {
    bool left = false;
    for (const EffectPod& pod : wanted.effect.pods) {
      const PodEntry* const entry = cache_.find_gpu_pod(pod.uid);
      if (entry == nullptr || entry->gpu->ended || entry->gpu->going) continue;
      left = true;
      if (awaits_owner(cache_, *entry->gpu) || owner_ends(cache_, *entry->gpu)) continue;
      if (has_arrived(*entry->gpu, wanted.effect.cause)) continue;
      const std::string owner = to_suspend(cache_, *entry->gpu, ending);
      const bool suspends = !owner.empty();
      if (suspends && cache_.owners().find(owner)->suspended)
        continue;  // its controller is deleting
                   // the pods
      const std::string& uid = suspends ? owner : pod.uid;
      if (!may_try(uid)) {
        if (!suspends) ++evicted_[entry->gpu->owner_uid];  // asked before, and not going yet
        continue;
      }
      if (!chosen_.insert(uid).second) continue;
      KubeWrite write{suspends ? WriteKind::kSuspend : WriteKind::kEvict,
                      uid,
                      wanted.effect.job,
                      "",
                      wanted.effect.cause,
                      wanted.effect.attempt,
                      wanted.effect.pods.size(),
                      wanted.effect.preemption,
                      {},
                      pod.uid};
      if (!suspends && !may_fail(*entry->gpu, wanted.effect.cause)) {
        withheld_.push_back(std::move(write));
        continue;
      }
      add(kBack, wanted.order, write);
    }
    return left;
  }

  // Deletes the ComputeDomains of attempts that have ended. An outdated patch may still open the gate
  // of a guarded pod, which then runs in the ComputeDomain.
  void drop_domains(const WantedJobs& wanted) {
    for (const auto& [key, entry] : cache_.domains().all()) {
      const ComputeDomain& domain = entry.object;
      if (!domain.is_ours() || domain.going || cache_.domains().users(key).all > 0) continue;
      if (guarded_jobs_.contains(domain.job)) continue;
      const auto job = wanted.find(domain.job);
      const bool starts = job != wanted.end() && job->second.effect.kind == EffectKind::kOpenGate &&
                          job->second.effect.attempt == domain.attempt;
      const std::string id = drop_domain_id(key);
      if (starts || !may_try(id)) continue;
      KubeWrite write{WriteKind::kDropDomain, id, domain.job, "", Cause::kNone, domain.attempt, 0};
      add(kBack, 0, write);
    }
  }

  // Resumes an owner that Subak suspended as soon as its pods are gone. If a user resumed it, only
  // Subak's mark is removed. Reads no owner that may wait parked.
  void resume_owners() {
    for (const auto& [uid, why] : cache_.owners().parked().to_resume()) {
      const OwnerEntry* const owner = cache_.owners().find(uid);
      if (owner != nullptr) resume_parked(uid, *owner);
    }
    for (const std::string& uid : cache_.owners().restless()) {
      const OwnerEntry& owner = *cache_.owners().find(uid);
      if (owner.has_parked_mark()) {
        resume_parked(uid, owner);
        continue;
      }
      const bool again = owner.mark == kMarkTakenBack && cache_.pods_of(uid).pods == 0;
      if ((owner.suspended && !again) || !may_try(uid)) continue;
      KubeWrite write{WriteKind::kResume, uid, {}, "", Cause::kNone, 0, 0};
      add(kBack, 0, write);
    }
  }

  // Resumes the owner of a parked job whose turn has come. The owner of a cancelled job stays
  // suspended, and gets a mark that says so. False: the effect needs no such write.
  bool end_parking(const Wanted& wanted) {
    const std::string& uid = wanted.effect.owner;
    const OwnerEntry* const owner = uid.empty() ? nullptr : cache_.owners().find(uid);
    if (owner == nullptr || !is_parked(uid, *owner)) return false;
    if (!may_try(uid) || !chosen_.insert(uid).second) return true;
    const bool opens = wanted.effect.kind == EffectKind::kOpenGate;
    KubeWrite write{opens ? WriteKind::kResume : WriteKind::kSuspend,
                    uid,
                    wanted.effect.job,
                    "",
                    wanted.effect.cause,
                    wanted.effect.attempt,
                    wanted.effect.pods.size()};
    add(opens ? kClosed : kBack, wanted.order, write);
    return true;
  }

  void finish(std::size_t most, Plan& plan) {
    std::stable_sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) {
      return std::pair(a.turn, a.order) < std::pair(b.turn, b.order);
    });
    if (found_.size() > most) found_.resize(most);
    for (Found& found : found_) plan.writes.push_back(std::move(found.write));
    plan.withheld = std::move(withheld_);
    plan.next_ms = next_ms_;
  }

 private:
  bool is_parked(const std::string& uid, const OwnerEntry& owner) const {
    return owner.has_parked_mark() && !owner.ended && !cache_.owners().parked().is_given_up(uid);
  }

  // Resumes a parked owner that may not wait, and takes the mark from one that others have resumed.
  void resume_parked(const std::string& uid, const OwnerEntry& owner) {
    const std::string* const why = cache_.owners().parked().must_resume(uid);
    const bool may_wait = owner.may_wait_parked() && why == nullptr;
    if (may_wait || !is_parked(uid, owner)) return;
    if (!may_try(uid) || !chosen_.insert(uid).second) return;
    KubeWrite write{WriteKind::kResume, uid, {}, "", Cause::kNone, 0, 0};
    write.why = !owner.suspended ? "its user or its controller resumed it"
                : why != nullptr ? *why
                                 : "its pods cannot be known from its templates";
    add(kBack, 0, write);
  }

  enum Turn : std::uint8_t { kBack, kHalfOpen, kClosed };
  struct Found {
    Turn turn;
    std::uint64_t order;
    KubeWrite write;
  };

  void add(Turn turn, std::uint64_t order, KubeWrite& write) {
    found_.push_back({turn, order, std::move(write)});
  }

  // The eviction counts as a failure of its Job. Subak does not use up the last failure that the
  // Job may have.
  bool may_fail(const GpuPodEntry& pod, Cause cause) {
    const OwnerEntry* const owner = cache_.owners().find(pod.owner_uid);
    if (owner == nullptr || owner->collection != kJobsPath || !comes_back(cause)) return true;
    if (owner->backoff_limit_per_index) {
      return pod.of_job.index_failures + 1 < *owner->backoff_limit_per_index;
    }
    const auto failing = static_cast<std::int64_t>(cache_.pods_of(pod.owner_uid).failing);
    return owner->failed + failing + ++evicted_[pod.owner_uid] < owner->backoff_limit;
  }

  // True if the pod needs no ComputeDomain, or if its ComputeDomain is there. Else plans to make the
  // ComputeDomain, once for all pods that need it.
  bool has_domain(const Wanted& wanted, const EffectPod& pod, const GpuPodEntry& gpu) {
    if (gpu.claims.domain.empty()) return true;
    const Effect& effect = wanted.effect;
    const DomainCheck check = check_domain(cache_, gpu.claims.domain, effect.job, effect.attempt);
    if (check.step == DomainStep::kOpen) return true;
    const std::string id = make_domain_id(gpu.claims.domain, effect.job, effect.attempt);
    if (!may_try(id) || !chosen_.insert(id).second) return false;
    KubeWrite write{WriteKind::kMakeDomain, id, effect.job, "",     Cause::kNone, effect.attempt,
                    effect.pods.size(),     {}, {},         pod.uid};
    add(kHalfOpen, wanted.order, write);
    return false;
  }

  bool is_guarded(const std::string& node) const {
    return guards_all_ || guarded_nodes_.contains(node);
  }

  bool may_try(const std::string& uid) {
    const auto attempt = attempts_.find(uid);
    if (attempt == attempts_.end()) return true;
    if (attempt->second.under_way) return false;
    const std::int64_t next = attempt->second.next_ms;
    if (next <= monotonic_ms_) return true;
    if (next_ms_ == 0 || next < next_ms_) next_ms_ = next;
    return false;
  }

  const ClusterCache& cache_;
  const Fence& fence_;
  const Attempts& attempts_;
  const std::int64_t monotonic_ms_;
  std::vector<Found> found_;
  std::vector<KubeWrite> withheld_;
  // Evictions by this plan and those asked for before, of each owner.
  std::map<std::string, std::int64_t> evicted_;
  // Owners and pods to be suspended, evicted or marked, and ComputeDomains to be made.
  std::set<std::string> chosen_;
  std::set<JobId> guarded_jobs_;
  std::set<std::string> guarded_nodes_;
  bool guards_all_ = false;
  std::int64_t next_ms_ = 0;
};

}  // namespace

std::string make_domain_id(const std::string& key, JobId job, std::uint32_t attempt) {
  return "make-domain " + attempt_label(job, attempt) + " " + key;
}
std::string drop_domain_id(const std::string& key) { return "drop-domain " + key; }

Plan plan_writes(const WantedJobs& wanted, const Fence& fence, const ClusterCache& cache,
                 const Attempts& attempts, TimeMs now_ms, std::int64_t monotonic_ms,
                 std::size_t most) {
  Plan plan;
  Planner planner(cache, fence, attempts, monotonic_ms);
  planner.guard();
  const Ending ending = ending_pods(cache, wanted);
  for (const auto& [id, job] : wanted) {
    const bool over = job.effect.until_ms != 0 && job.effect.until_ms <= now_ms;
    if (over || job.given_up) continue;
    const bool opens = job.effect.kind == EffectKind::kOpenGate;
    const bool left = opens ? planner.open(job) : planner.take_back(job, ending);
    const bool parked = planner.end_parking(job);
    if (!left && !parked) plan.settled.push_back(id);
  }
  planner.drop_domains(wanted);
  planner.resume_owners();
  planner.finish(most, plan);
  return plan;
}

bool begins_attempt(const WantedJobs& wanted, const Effect& effect) {
  const auto known = wanted.find(effect.job);
  return effect.kind == EffectKind::kOpenGate && effect.pods.size() > 1 &&
         (known == wanted.end() || known->second.effect.attempt != effect.attempt);
}

std::vector<std::string> pods_beyond(const ClusterCache& cache, const WantedJobs& wanted,
                                     JobId job) {
  std::vector<std::string> beyond;
  const auto begun = wanted.find(job);
  if (begun == wanted.end()) return beyond;
  const PodEntry* first = nullptr;
  for (const EffectPod& pod : begun->second.effect.pods) {
    if (first == nullptr) first = cache.find_gpu_pod(pod.uid);
  }
  if (first == nullptr || !first->gpu->gang_told.least) return beyond;
  std::set<std::string_view> placed;
  for (const auto& [id, other] : wanted) {
    for (const EffectPod& pod : other.effect.pods) placed.insert(pod.uid);
  }
  for (const std::string& uid : cache.marks().gated()) {
    const PodEntry& pod = *cache.find_gpu_pod(uid);
    const GangPart& gang = pod.gpu->gang_told;
    const bool its = pod.ns == first->ns && gang.key == first->gpu->gang_told.key;
    if (its && gang.least && !gang.apart && !placed.contains(uid)) beyond.push_back(uid);
  }
  return beyond;
}

}  // namespace subak

// Computes the edge's next writes to the API server. The plan follows only from the wanted effects
// (commands of the core), the fence (fence.h), the object cache and the attempts so far. Example:
// an effect names 4 pods of a job, and 2 gates are open, so the plan opens the other 2. Thus an
// effect that was lost, repeated or late does no harm. Threads: any; pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/text.h"
#include "model/effect.h"
#include "server/edge/cache/cluster_cache.h"
#include "server/edge/client/backoff.h"
#include "server/edge/writes/fence.h"

namespace subak {

// The kinds of writes to the API server.
enum class WriteKind : std::uint8_t {
  // Restricts the pod to its node and opens Subak's gate, in one patch.
  kRelease,
  // Puts a mark onto the pod, so that outdated patches no longer open its gate (fence.h).
  kKeep,
  // Evicts the pod. The pod's owner counts the eviction as a failure.
  kEvict,
  // Suspends the owner, which then deletes all its pods without counting a failure.
  kSuspend,
  // Resumes the owner, which then creates its pods again.
  kResume,
  // Makes the ComputeDomain of a gang that starts, or waits for it (domain_state.h).
  kMakeDomain,
  // Deletes the ComputeDomain of an attempt that has ended.
  kDropDomain
};
template <>
struct EnumText<WriteKind> {
  static constexpr std::array<std::string_view, 7> names{
      "release", "keep", "evict", "suspend", "resume", "make_domain", "drop_domain"};
};

// kMarkTakenBack and kMarkCancelled are the values of the annotation subak.gpu/suspended on an
// owner that Subak has suspended. With kMarkTakenBack, the job waits again, and Subak resumes the
// owner once the owner's pods are gone.
inline constexpr std::string_view kMarkTakenBack = "taken-back";
// With the annotation value kMarkCancelled, the owner stays suspended until a user resumes the
// owner.
inline constexpr std::string_view kMarkCancelled = "cancelled";

// One write to the API server. A KubeWrite names no path and no resource version: the writer reads
// both from the cache when the write begins.
struct KubeWrite {
  WriteKind kind = WriteKind::kRelease;
  // The uid of the pod, or of the owner that is suspended or resumed. For kMakeDomain and
  // kDropDomain: make_domain_id() or drop_domain_id() of the ComputeDomain's key.
  std::string uid;
  // The job. It is empty for a pod that Subak does not manage, and for kResume unless the turn of a
  // parked job has come.
  JobId job;
  // For kRelease: the node for the pod; empty: the scheduler chooses the node.
  std::string node;
  // For kEvict and kSuspend: why the attempt ends. Users see this cause.
  Cause cause = Cause::kNone;
  // The attempt of the job. For kKeep: the attempt whose hold was released.
  std::uint32_t attempt = 0;
  // The number of pods in the core's effect.
  std::size_t pods = 0;
  // Copies from the core's effect: `preemption` for kEvict and kSuspend, `loan` for kRelease.
  Preemption preemption{};
  Loan loan{};
  // For kSuspend: the uid of one of the pods that end. For kMakeDomain: the uid of one of the pods
  // that need the ComputeDomain.
  std::string pod{};
  // For kResume of a parked owner without a turn: why it no longer waits suspended, for people.
  std::string why{};
};

// Return the keys in Attempts: for making the ComputeDomain with this key for an attempt of a job,
// and for deleting it.
std::string make_domain_id(const std::string& key, JobId job, std::uint32_t attempt);
std::string drop_domain_id(const std::string& key);

// The newest effect of the core on one job. The newest effect replaces an older effect on that job,
// since each effect names all pods of the job.
struct Wanted {
  // The effect as the core last sent it.
  Effect effect;
  // The number of the effect. Effects are numbered from 1, in the order of their arrival.
  std::uint64_t order = 0;
  // True: the edge has given up the release, and the core has not withdrawn the effect yet. So the
  // effect opens no gate, but its attempt has not ended.
  bool given_up = false;
};
using WantedJobs = std::map<JobId, Wanted>;

// The write attempts on one object. The record exists from the first write until a write succeeds
// or the object is gone.
struct Attempt {
  // True: a call about the object has no answer yet.
  bool under_way = false;
  // When the next write may begin, by the monotonic clock.
  std::int64_t next_ms = 0;
  // Computes the pauses after failures.
  Backoff backoff;
  // Since when the API server refuses the write, by the monotonic clock; 0: the API server does not
  // refuse the write.
  std::int64_t refused_since_ms = 0;
  // True: the release of the pod was given up after a long refusal, and no write has succeeded
  // since then.
  bool release_given_up = false;
};
using Attempts = std::map<std::string, Attempt>;  // by KubeWrite::uid

// The result of plan_writes().
struct Plan {
  // The writes to begin now, the most urgent first, at most as many as requested.
  std::vector<KubeWrite> writes;
  // Jobs whose effects may be forgotten, because they need no further write. All gates to open are
  // open, or all pods to end have ended or are being deleted.
  std::vector<JobId> settled;
  // Evictions that are left out, because each would use up the last failure of a Job.
  std::vector<KubeWrite> withheld;
  // When the first pause that delays a write ends, by the monotonic clock; 0: no pause delays a
  // write.
  std::int64_t next_ms = 0;
};

// Plans at most `most` writes, in this order:
// - Marks, evictions, suspensions, resumptions without a turn, and deletions of ComputeDomains.
//   GPUs wait for most of these writes.
// - Releases of gangs that have some open gates, and new ComputeDomains.
// - All other releases, and resumptions of parked owners whose turn has come, in the order of their
//   effects.
// A pod that cannot be written now does not delay other pods. The function follows these rules:
// - It does not release a pod that has gates of other components, or a pod that requests no GPUs
//   any more because Subak does not know its ResourceClaims.
// - It does not release a pod before the ComputeDomain of the pod's gang is there (domain_state.h).
// - It deletes a ComputeDomain of Subak if no pod with an open gate uses it, and the core no longer
//   wants to open gates for its attempt. While the effect is wanted, the attempt has not ended: the
//   core may extend a hold that has ended by `now_ms`.
// - It releases no pod to a node that `fence` guards. The caller must have pruned `fence` with this
//   cache.
// - It resumes the owner of a parked job when an effect says so. If the job was cancelled instead,
//   the owner gets the mark kMarkCancelled. It also resumes a parked owner that cannot wait
//   suspended (ParkedOwners::must_resume(), LatePart::parked). If others resumed the owner, it only
//   removes Subak's mark. It does neither for an owner that was given up
//   (ParkedOwners::is_given_up()).
// - It ignores a release whose hold has ended by `now_ms`, since the core will withdraw that
//   effect.
// - It ends no pod whose owner has ended, or whose owner may be suspended but was not seen yet.
// - If the hold expired or the scheduler found no node, it ends no pod that was bound meanwhile. A
//   declared gang, which cannot run without one of its pods, is an exception.
// - It evicts a pod only if it cannot suspend the pod's owner instead. It suspends the owner if the
//   pod's gang cannot run without the pod, or if all bound pods of the owner must end.
// - If a pod is to be recreated, its eviction never uses up the last failure that the Job may have.
//   Plan::withheld has such evictions.
// It reads all pods that the effects name, all guarded objects, all marked owners that may not wait
// parked, and all ComputeDomains.
Plan plan_writes(const WantedJobs& wanted, const Fence& fence, const ClusterCache& cache,
                 const Attempts& attempts, TimeMs now_ms, std::int64_t monotonic_ms,
                 std::size_t most);

// True if the effect opens the gates of a gang, and `wanted` has no effect of this attempt yet.
bool begins_attempt(const WantedJobs& wanted, const Effect& effect);
// Returns the gated pods beyond the least size of a gang (Gang::least), once the gang's attempt has
// begun. For example, a gang of at least 4 pods has started with 4, and a fifth pod comes later.
// Without further action, these pods would wait until the gang has ended. So the caller sends them
// again as new pods, and the core makes a job of each. `wanted` has the effects of all jobs: a pod
// that one of them names is not beyond. O(gated pods and pods of effects).
std::vector<std::string> pods_beyond(const ClusterCache& cache, const WantedJobs& wanted,
                                     JobId job);

}  // namespace subak

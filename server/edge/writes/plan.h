// Computes the edge's next writes: a pure function of the wanted effects, the object cache and the
// attempts so far. Nothing else is remembered between two calls. So effects that were lost,
// repeated or late do no harm. Threads: pure functions.
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
  // Narrows the pod to its node and opens Subak's gate, in one patch.
  kRelease,
  // Marks the pod: outdated patches no longer open its gate.
  kKeep,
  // Evicts the pod. Its owner counts that as a failure.
  kEvict,
  // Suspends the owner, which deletes all its pods. No failure is counted.
  kSuspend,
  // Resumes the owner, which creates its pods again.
  kResume
};
template <>
struct EnumText<WriteKind> {
  static constexpr std::array<std::string_view, 5> names{"release", "keep", "evict", "suspend",
                                                         "resume"};
};

// The values of the owner's annotation subak.gpu/suspended while Subak suspends it.
// Until its pods are gone: the owner is then resumed.
inline constexpr std::string_view kMarkTakenBack = "taken-back";
// Until a user resumes it.
inline constexpr std::string_view kMarkCancelled = "cancelled";

// One write to the API server.
// It names what to write, not how: the writer reads versions and paths from the cache when it
// begins.
struct KubeWrite {
  WriteKind kind = WriteKind::kRelease;
  // Of the pod, or of the owner that is suspended or resumed.
  std::string uid;
  // The job that it is for; none for kResume, and for a pod that Subak does not manage.
  JobId job;
  // At kRelease the pod's node; empty: the scheduler chooses.
  std::string node;
  // At kEvict and kSuspend: why the job ends. Users see it.
  Cause cause = Cause::kNone;
  // The attempt of the job; at kKeep the revoked attempt.
  std::uint32_t attempt = 0;
  // The number of pods in the core's effect.
  std::size_t pods = 0;
};

// The newest effect of the core on one job. It names all its pods.
// A newer effect replaces an older one of the job.
struct Wanted {
  // As the core sent it last.
  Effect effect;
  // Number in the order of arrival, from 1.
  std::uint64_t order = 0;
};
using WantedJobs = std::map<JobId, Wanted>;

// An object whose last write did not succeed.
// Kept from the first write until one succeeds or the object is gone.
struct Attempt {
  // A call about the object is open.
  bool under_way = false;
  // The next write may begin then, monotonic.
  std::int64_t next_ms = 0;
  // The pauses after failures.
  Backoff backoff;
  // Since when the API server refuses the write, monotonic; 0: it does not.
  std::int64_t refused_since_ms = 0;
  // Its release was given up after a long refusal, and no write has succeeded since.
  bool release_given_up = false;
};
using Attempts = std::map<std::string, Attempt>;  // by uid

// The writes to begin now.
// Jobs in `settled` may be forgotten: their pods have ended or are being deleted, or their gates
// are open.
struct Plan {
  // The most urgent first, at most as many as requested.
  std::vector<KubeWrite> writes;
  // Jobs without any write left.
  std::vector<JobId> settled;
  // When the first pause ends that delays a write, monotonic; 0: no pause delays one.
  std::int64_t next_ms = 0;
};

// Plans the writes in this order: evictions and suspensions, since GPUs wait for them; gangs with
// some gates open; then the order of the effects. A pod with gates of others is left alone. A pod
// that cannot be written now does not delay other pods. No pod is released to a node that `fence`
// guards (pruned with these entries). An effect whose hold has ended by `now_ms` is ignored; the
// core will withdraw it.
// A pod is evicted only where its owner cannot be suspended instead. That is right for a gang which
// cannot run without the pod, or if all bound pods of the owner are to end. An eviction never uses
// up the last failure that its Job may have, if its pod is to come back. Cost: all pods that the
// effects name, and all guarded and marked objects. `most`: writes at most.
Plan plan_writes(const WantedJobs& wanted, const Fence& fence, const ClusterCache& cache,
                 const Attempts& attempts, TimeMs now_ms, std::int64_t monotonic_ms,
                 std::size_t most);

}  // namespace subak

// Computes the edge's next writes, as a pure function of the wanted effects, the object cache and
// the attempts so far. It stores nothing else between two calls. So effects that were lost,
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
  // Restricts the pod to its node and opens Subak's gate, in one patch.
  kRelease,
  // Marks the pod, so that outdated patches no longer open its gate.
  kKeep,
  // Evicts the pod. The owner counts that as a failure.
  kEvict,
  // Suspends the owner, which deletes all its pods. The owner counts no failure.
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
// Subak resumes the owner once its pods are gone.
inline constexpr std::string_view kMarkTakenBack = "taken-back";
// The owner stays suspended until a user resumes it.
inline constexpr std::string_view kMarkCancelled = "cancelled";

// One write to the API server.
// It has no versions and paths: the writer reads these from the cache when the write begins.
struct KubeWrite {
  WriteKind kind = WriteKind::kRelease;
  // The uid of the pod, or of the owner that is suspended or resumed.
  std::string uid;
  // The job; none for kResume, and for a pod that Subak does not manage.
  JobId job;
  // For kRelease: the pod's node; empty: the scheduler chooses.
  std::string node;
  // For kEvict and kSuspend: why the job ends. Users see the cause.
  Cause cause = Cause::kNone;
  // The attempt of the job. For kKeep: the revoked attempt.
  std::uint32_t attempt = 0;
  // The number of pods in the core's effect.
  std::size_t pods = 0;
};

// The newest effect of the core on one job. The effect names all pods of the job.
// A newer effect replaces an older one.
struct Wanted {
  // The effect as the core last sent it.
  Effect effect;
  // The number of the effect in the order of arrival, from 1.
  std::uint64_t order = 0;
};
using WantedJobs = std::map<JobId, Wanted>;

// The write attempts on one object.
// It exists from the first write until a write succeeds or the object is gone.
struct Attempt {
  // A call about the object is open.
  bool under_way = false;
  // When the next write may begin, monotonic.
  std::int64_t next_ms = 0;
  // The pauses after failures.
  Backoff backoff;
  // Since when the API server refuses the write, monotonic; 0: it does not refuse.
  std::int64_t refused_since_ms = 0;
  // True: the release was given up after a long refusal, and no write has succeeded since.
  bool release_given_up = false;
};
using Attempts = std::map<std::string, Attempt>;  // by uid

// The result of plan_writes().
struct Plan {
  // The writes to begin now, the most urgent first, at most as many as requested.
  std::vector<KubeWrite> writes;
  // Jobs that need no further write, whose effects may be forgotten. Their pods have ended, are
  // being deleted, or have open gates.
  std::vector<JobId> settled;
  // When the first pause that delays a write ends, monotonic; 0: no pause delays a write.
  std::int64_t next_ms = 0;
};

// Plans at most `most` writes. Evictions and suspensions come first, since GPUs wait for them. Then
// come gangs with some open gates, then the other effects in their order.
// It does not touch a pod with gates of other components. A pod that cannot be written now does not
// delay other pods. It releases no pod to a node that `fence` guards; the caller has pruned `fence`
// with this cache. It ignores an effect whose hold has ended by `now_ms`, since the core will
// withdraw it.
// It evicts a pod only if it cannot suspend the pod's owner instead. It suspends the owner if its
// gang cannot run without the pod, or if all bound pods of the owner must end. If a pod is to be
// recreated, its eviction never uses up the last failure that the Job may have.
// Cost: all pods that the effects name, and all guarded and marked objects.
Plan plan_writes(const WantedJobs& wanted, const Fence& fence, const ClusterCache& cache,
                 const Attempts& attempts, TimeMs now_ms, std::int64_t monotonic_ms,
                 std::size_t most);

}  // namespace subak

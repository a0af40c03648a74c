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
  kRelease,  // narrow the pod to its node and open Subak's gate
  kKeep,     // mark the pod: outdated patches no longer open its gate
  kEvict,    // evict the pod; its owner counts that as a failure
  kSuspend,  // suspend the owner, which deletes all its pods uncounted
  kResume    // resume the owner, which creates them again
};
template <>
struct EnumText<WriteKind> {
  static constexpr std::array<std::string_view, 5> names{"release", "keep", "evict", "suspend",
                                                         "resume"};
};

// The values of the owner's annotation subak.gpu/suspended while Subak suspends it.
inline constexpr std::string_view kMarkTakenBack = "taken-back";  // until its pods are gone
inline constexpr std::string_view kMarkCancelled = "cancelled";   // until a user resumes it

// One write to the API server.
// It names what to write, not how: the writer reads versions and paths from the cache when it
// begins.
struct KubeWrite {
  WriteKind kind = WriteKind::kRelease;
  std::string uid;             // of the pod, or of the suspended or resumed owner
  JobId job;                   // none for kResume
  std::string node;            // kRelease: the pod's node; empty: the scheduler chooses
  Cause cause = Cause::kNone;  // kEvict, kSuspend
  std::uint32_t attempt = 0;   // of the job; kKeep: the revoked attempt
  std::size_t pods = 0;        // number of pods in the core's effect
};

// The newest effect of the core on one job. It names all its pods.
// A newer effect replaces an older one of the job.
struct Wanted {
  Effect effect;
  std::uint64_t order = 0;  // the effects' order of arrival
};
using WantedJobs = std::map<JobId, Wanted>;

// An object whose last write did not succeed.
// Kept from the first write until one succeeds or the object is gone.
struct Attempt {
  bool under_way = false;
  std::int64_t next_ms = 0;  // monotonic; not before
  Backoff backoff;
  std::int64_t refused_since_ms = 0;  // since when the API server refuses; 0: it does not
  bool release_given_up = false;      // after a long refusal, with no success since
};
using Attempts = std::map<std::string, Attempt>;  // by uid

// The writes to begin now.
// Jobs in `settled` may be forgotten: their pods have ended or are being deleted, or their gates
// are open.
struct Plan {
  std::vector<KubeWrite> writes;  // the most urgent first, at most as many as requested
  std::vector<JobId> settled;     // jobs without any write left
  std::int64_t next_ms = 0;       // end of the first pause that delays a write; 0: none
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

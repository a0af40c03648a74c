// What the edge writes next: a pure function of what the core wants, what is seen, and what has been
// tried. Nothing is remembered between two calls but that, so it does not matter what was lost, came
// twice or came late. Threads: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/text.h"
#include "engine/effect.h"
#include "server/kube/backoff.h"
#include "server/kube/cards.h"
#include "server/kube/fence.h"

namespace subak {

enum class WriteKind : std::uint8_t {
  kRelease,  // narrow the pod to its node and open our gate
  kKeep,     // mark the pod: no earlier word opens its gate any more
  kEvict,    // ask for the pod's end; its owner counts that as a failure
  kSuspend,  // let the owner take all its pods back; it counts nothing
  kResume    // and let it make them anew
};
template <>
struct EnumText<WriteKind> {
  static constexpr std::array<std::string_view, 5> names{"release", "keep", "evict", "suspend",
                                                         "resume"};
};

// What stands in the owner's annotation subak.gpu/suspended while we have suspended it.
inline constexpr std::string_view kMarkTakenBack = "taken-back";  // until its pods are gone
inline constexpr std::string_view kMarkCancelled = "cancelled";   // until somebody says otherwise

struct KubeWrite {
  WriteKind kind = WriteKind::kRelease;
  std::string uid;             // of the pod, or of the owner that is suspended or resumed
  JobId job;                   // none: of kResume
  std::string node;            // kRelease: the pod's place; empty: wherever the scheduler puts it
  Cause cause = Cause::kNone;  // kEvict, kSuspend
  std::uint32_t attempt = 0;   // of the job; kKeep: the one that was taken back
  std::size_t pods = 0;        // that the core's word is about
};

// The newest word of the core on one job. It names all pods that it is about.
struct Wanted {
  Effect effect;
  std::uint64_t order = 0;  // in which the words came
};
using WantedJobs = std::map<JobId, Wanted>;

// An object that a write did not settle.
struct Attempt {
  bool under_way = false;
  std::int64_t next_ms = 0;  // not before; monotonic
  Backoff backoff;
  std::int64_t refused_since_ms = 0;  // the API server has said no since then; 0: it has not
  bool release_given_up = false;      // after such a while, and nothing was taken since
};
using Attempts = std::map<std::string, Attempt>;  // by uid

struct Plan {
  std::vector<KubeWrite> writes;  // the most urgent first, at most as many as asked for
  std::vector<JobId> settled;     // nothing is left to be done for these
  std::int64_t next_ms = 0;       // when a pause ends that holds something up; 0: none does
};

// Takings back first, as GPUs wait for them; then gangs of which some gates are open, then in the order
// in which the core said so. A pod with gates of others is left alone, and one that cannot be written
// now holds up no other; but nobody is let go to a place that `fence` guards (pruned by these cards).
// `now_ms`: a hold that has ended by then is not acted on any more; the core will say so.
Plan plan_writes(const WantedJobs& wanted, const Fence& fence, const Cards& cards,
                 const Attempts& attempts, TimeMs now_ms, std::int64_t monotonic_ms,
                 std::size_t most);

}  // namespace subak

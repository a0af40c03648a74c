// The fact about a claim: GPUs that Subak sets aside for a waiting job, and that other jobs (the
// victims) must give back. Part of model/fact.h, which says how facts are stored.
// Threads: any; plain values.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "core/text.h"
#include "model/node.h"

namespace subak {

// Why a claim was made or ended. Values are durable: append only.
enum class ClaimCause : std::uint8_t {
  kMade,     // made: the job found no placement in its turn
  kAccount,  // ended: the quota, the class or a rule of the job's accounts no longer allows it
  kPlace,    // ended: a node is gone or takes no new pods, or another job holds claimed GPUs
  kStays,    // ended: a victim does not end in time, or may no longer be asked to end
  kPolicy,   // ended: the policy no longer allows claims
};
template <>
struct EnumText<ClaimCause> {
  static constexpr std::array<std::string_view, 5> names{"made", "account", "place", "stays",
                                                         "policy"};
};

// The right by which a job claims GPUs. Values are durable: append only.
enum class ClaimRight : std::uint8_t {
  kReclaim,  // the job is within its quota, and the victims are beyond their quota
  kClass,    // the job's priority class preempts, and the victims are of lower priority
};
template <>
struct EnumText<ClaimRight> {
  static constexpr std::array<std::string_view, 2> names{"reclaim", "class"};
};

namespace fact {

// Claims GPUs for a queued job. The victims (ClaimRight) hold these GPUs now and will be asked to
// end. A fact without slots ends the claim; `cause` says why. A claim also ends, without such a
// fact, when its job starts or leaves the queue, and when the job's request changes.
struct Claimed {
  static constexpr std::string_view kName = "claimed";
  // A job that ends for the claim. A job is a victim of at most one claim.
  struct Victim {
    JobId job;
    // The attempt of the victim that Subak may ask to end. Subak does not ask later attempts.
    std::uint32_t attempt = 0;
    // The time from which Subak may ask the victim to end: the end of its minimum run.
    TimeMs ask_ms = 0;
    template <class V>
    void fields(V& v) {
      v(1, "job", job);
      v(2, "attempt", attempt);
      v(3, "ask_ms", ask_ms);
    }
    friend bool operator==(const Victim&, const Victim&) = default;
  };
  JobId job;
  // The slots that the claiming job will take, by rank.
  std::vector<PodSlot> slots;
  // Ascending by job.
  std::vector<Victim> victims;
  // When the claim was made.
  TimeMs made_ms = 0;
  ClaimCause cause = ClaimCause::kMade;
  ClaimRight right = ClaimRight::kReclaim;
  template <class V>
  void fields(V& v) {
    v(1, "job", job);
    v(2, "slots", slots);
    v(3, "victims", victims);
    v(4, "made_ms", made_ms);
    v(5, "cause", cause);
    v(6, "right", right);
  }
  friend bool operator==(const Claimed&, const Claimed&) = default;
};

}  // namespace fact

}  // namespace subak

// A job and its pods, as the engine knows them. Values: only state/ changes them, everybody else
// sees them const.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "placement/fleet.h"
#include "placement/node.h"
#include "placement/request.h"
#include "queue/job.h"

namespace subak::state {

// One rank of a job. Of an API job it has no uid.
struct Pod {
  std::string uid;
  std::string name;     // "namespace/name"
  std::string dispute;  // what it says otherwise than its gang; while any pod does, it cannot start
  PodState state = PodState::kWaiting;
  bool controlled = false;       // something would make it anew
  PodSlot slot;                  // what it holds; empty if it holds nothing
  TimeMs since_ms = 0;           // start of the interval that its next ledger row covers
  ShapeUse shape;                // what the fleet holds for it: the job's shape and this rank,
  std::uint32_t shape_rank = 0;  // or a shape of its own, rank 0
  bool holds_slot() const {
    return state == PodState::kHeld || state == PodState::kBound || state == PodState::kRunning;
  }
  bool is_bound() const { return state == PodState::kBound || state == PodState::kRunning; }
};

struct Job {
  JobId id;
  AccountId leaf;  // the user's node, or the account's; kUnassigned: nobody's
  ShapeUse shape;  // none while incomplete, for foreign jobs, and once it has ended
  JobState state = JobState::kIncomplete;
  JobOrigin origin = JobOrigin::kApi;
  Cause cause = Cause::kNone;  // of its end; before that, what its attempt ends of
  std::int32_t priority = 0;
  std::uint32_t gang_size = 0;
  std::uint32_t attempt = 0;
  TimeMs submit_ms = 0, started_ms = 0, ended_ms = 0;
  TimeMs until_ms = 0;  // of its hold; 0: it has none, or it is past
  DurationMs time_limit_ms = 0;
  std::string name;       // "namespace/gang" of a job made of pods
  std::vector<Pod> pods;  // by rank; empty for an API job never reserved
  // Of a gang that is not complete: its topology and segment. Of an ended job: all it asked for.
  std::shared_ptr<const GangRequest> asked;

  bool from_pods() const { return origin != JobOrigin::kApi; }
  bool waits() const { return is_waiting(state); }
  // Something is to be done outside about it (derive/effects.h).
  bool active() const { return state == JobState::kStarting || state == JobState::kEnding; }
  const Pod* disputing() const;  // a pod that is there and says otherwise; nullptr: none
  std::size_t pods_holding() const;
};

// One rank of one job.
struct PodPlace {
  JobId job;
  std::uint32_t rank = 0;
  friend auto operator<=>(const PodPlace&, const PodPlace&) = default;
};

}  // namespace subak::state

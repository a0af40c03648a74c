// The demo's part with claims. A team borrows all H100 GPUs, and another team asks for its quota.
// For each job of this team, the service makes a claim: it asks other jobs, the victims, to give
// their GPUs back. The service is killed twice before the jobs within quota can start.
// Threads: one; the demo's main thread.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/demo_edge/edge.h"
#include "tools/demo_edge/load.h"

namespace subak::demo {

// The time for which no job is asked to give GPUs back (`reclaimMinRun` in deploy/demo/subak.yaml),
// and the grace period of the borrowers' pods.
inline constexpr std::int64_t kMinRunMs = 3000, kGraceMs = 10'000;

// The record of this part, for the checks.
struct ClaimStory {
  // `borrowers`: jobs of 10 minutes beyond quota, more than the fleet can hold. `claimants`: jobs
  // within quota.
  std::vector<JobPlan> borrowers, claimants;
  // The claims before the first kill.
  std::vector<v1::Claim> claims;
  // Each claim that the service ever showed: its job, and when it was made.
  std::set<std::pair<std::string, std::int64_t>> seen;
  // The number of kills, and of claims that a restarted service showed unchanged.
  int kills = 0, unchanged = 0;
  // When the last kill happened, by the wall clock.
  std::int64_t killed_ms = 0;
  // The number of claims that the service ended for another reason than the start of their job.
  std::int64_t broken = 0;
};

// Plays this part. It returns once all claimants are bound, or with an error; empty: none.
// `restart` kills the service with kill -9 and starts it again; false: that failed. Call
// play_claims() when no job is left. When it returns, victims and borrowers still run for a moment.
std::string play_claims(Door& door, Edge& edge, const std::function<bool()>& restart,
                        ClaimStory& story);

}  // namespace subak::demo

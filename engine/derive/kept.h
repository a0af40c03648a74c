// Which nodes are kept free for whom: for each cluster's awaited job those on which it has the
// least to wait for.
// Threads: none; the memo's owner is the caller's.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/ids.h"
#include "engine/state/state.h"
#include "placement/kept_nodes.h"
#include "placement/search.h"

namespace subak::derive {

// The awaited jobs, by cluster.
std::vector<JobId> awaited(const State& s);

// What was chosen last. It stands until something becomes free or another job is awaited: what
// starts meanwhile does not make the choice wander. Only refresh() changes it.
struct Kept {
  KeptNodes nodes;
  std::vector<NodeId> ids;     // the same, by cluster, ascending in each
  std::vector<JobId> awaited;  // for whom, by cluster
  std::uint64_t freed_at = 0;  // freed_version() + 1 of the fleet then; 0: never chosen
};

// Chooses anew if it has to. True if other nodes are kept now than before.
bool refresh(const State& s, Search& search, Kept& kept);
// Chooses anew in any case.
bool choose(const State& s, Search& search, Kept& kept);

// What of `kept` is kept for jobs within their quota: patience is for equals, so a job within its
// quota may have any node but these. `ids`: Kept::ids of `kept`.
KeptNodes firm_part(const State& s, const KeptNodes& kept, std::span<const NodeId> ids);
// Would the job, which is queued, be within quota if it started now?
bool is_within_quota(const State& s, const state::Job& job);

// Where reads look for places: whoever asks has the memory of its searches.
struct Places {
  Search& search;
  const KeptNodes& kept;
  std::span<const NodeId> kept_ids;  // the nodes of `kept`
  // Whether the next pass would start this queued job; nothing: nobody knows. May be empty.
  std::function<std::optional<bool>(JobId)> starts_next;
};

}  // namespace subak::derive

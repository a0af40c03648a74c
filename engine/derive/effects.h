// Computes effects from the state. An effect is a command to the edge, the program that reports
// a cluster and acts on it. The edge must open the scheduling gates of a starting job's pods,
// and evict the pods of an ending job. For a job that waits again, it must keep the gates
// closed, even if an earlier command said otherwise. The engine does not store which effects it
// has sent.
#pragma once

#include <optional>
#include <vector>

#include "engine/state/state.h"
#include "model/effect.h"

namespace subak::derive {

// True if the job is ending and this pod has to end: it holds GPUs, or it has a rank in the gang
// and an open gate. The job's other pods stay for the next attempt. If the job ends for good, each
// live pod has to end.
bool must_go(const state::Job& job, std::uint32_t rank);
// Returns the effect of one job. nullopt: the job needs no effect.
std::optional<Effect> effect_of(const State& s, const state::Job& job);
// Returns the effects of all jobs of a cluster: first of the jobs that wait again, then of the jobs
// that start or end. Each of the two parts is sorted by job id, then by rank.
std::vector<Effect> outstanding(const State& s, ClusterId cluster);

}  // namespace subak::derive

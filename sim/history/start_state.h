// The state with which a replay of a past window begins (sim/history/history.h).
// Threads: any; pure functions.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/engine.h"

namespace subak::sim {

// A state as facts of a checkpoint, and the number of its last fact. Without facts: the empty
// state.
struct StartState {
  std::vector<Fact> facts;
  std::uint64_t seq = 0;
};

// Returns the state of the engine, changed for a replay, where a driver plays all clusters:
//   - Jobs that Subak places become jobs of the API, under their ids, so that their pods need no
//     Kubernetes objects. Jobs that have holds run on these holds.
//   - Gangs that lack pods are left out. A replay submits them when they are complete.
//   - Claims end, because their victims run on. The next pass makes the claims that are due.
//   - Each cluster counts as completely listed, and its nodes can be reported one by one.
//   - Remembered requests are left out.
// All else stays: accounts with their usage, policy, nodes, reservations, pods that Subak did not
// place. O(state).
StartState start_state(const Engine& engine);

// Makes an engine with this state. O(state).
std::unique_ptr<Engine> engine_of(const StartState& state);

}  // namespace subak::sim

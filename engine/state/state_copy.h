// Copies a state at one instant as facts, in slices, while the state still changes. The facts
// rebuild the state, as those of snapshot.h do. Engine::begin_copy() makes such copies for
// checkpoints and forecasts, so that reads need not wait until a large state is copied completely.
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "core/quantity.h"
#include "engine/state/requests.h"
#include "engine/state/snapshot.h"
#include "engine/state/state.h"
#include "model/fact.h"

namespace subak::state {

// One copy in progress. The state may change between slices any number of times.
class StateCopy {
 public:
  using Sink = std::function<void(Fact&&)>;

  // Begins a copy of the state as it is now. O(accounts + nodes + ended jobs), and one copy of the
  // ids of all jobs and requests. The state has at most one copy in progress: a newer copy replaces
  // it.
  StateCopy(State& state, SnapshotParts what);
  // Passes on the next facts, about `most`, all with number 0. All calls together pass on the facts
  // that snapshot() would give at the instant of the copy, in the same order. Returns true when the
  // copy is complete. `state` must be the state of the constructor.
  bool pass(State& state, std::size_t most, const Sink& sink);

 private:
  // Facts that were made at the instant of the copy.
  struct Made {
    std::vector<fact::Body> facts;
    // The index of the first fact that was not passed on yet.
    std::size_t next = 0;
  };
  bool pass(Made& made, std::size_t& most, const Sink& sink) const;
  bool pass_requests(std::size_t& most, const Sink& sink);

  // The time of the copied instant. All facts get this time.
  TimeMs fact_ms_;
  // The facts before the live jobs, the facts between live jobs and requests, and the last facts.
  Made before_, books_, last_;
  // True: all live jobs were passed on.
  bool live_passed_ = false;
  RequestLog requests_;  // the requests of the instant that are not passed on yet
};

}  // namespace subak::state

// A change of which people ask what it would have done, and the workload of a history with this
// change.
// Threads: any; pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "accounting/second_meters.h"
#include "core/error.h"
#include "sim/history/history.h"

namespace subak::sim {

// More or fewer nodes, from the beginning of the window on.
struct NodeChange {
  // The name of the cluster. Empty: the only cluster that has or had the node.
  std::string cluster;
  // The node whose description the new nodes have, or to which the nodes that go are similar: they
  // have its GPU product and number of GPUs. Ignored if `remove` is set.
  std::string like;
  // How many nodes come (above 0) or go (below 0).
  std::int64_t count = 0;
  // The one node that goes. Empty: `like` and `count` say what changes.
  std::string remove;
};

// A load that follows the jobs of an account and of the accounts below it: each of them comes again
// `times_milli` / 1000 times on average. The new jobs come at random times up to
// limits::kLoadSpreadMs later, and run as long.
struct LoadChange {
  std::string account;
  std::int64_t times_milli = 0;
};

// The new values. All of them are in force during the whole window.
struct Change {
  // The accounts that change, each once. Each account must exist at the beginning of the window, or
  // come in it. `spec` has the new values, and `unchanged` names the fields that stay.
  std::vector<in::AccountChange> accounts;
  // Returns the policy with the new values. Empty: the policy does not change.
  std::function<Policy(const Policy&)> policy;
  std::vector<NodeChange> nodes;
  std::vector<LoadChange> load;
  // The seed of the load.
  std::uint64_t seed = 1;
  // If the change has another half-life than the state: the meters of that state with the new
  // half-life (HalfLifeFold), for the beginning of the window and for its end.
  std::vector<MeterValues> start_meters, end_meters;

  // True if nothing changes.
  bool empty() const { return accounts.empty() && !policy && nodes.empty() && load.empty(); }
};

// Returns the inputs that make the change, for the time `t` in a state with this policy. Accounts
// and nodes that the state lacks are left out, and so is the load. `meters`: start_meters or
// end_meters. If the engine refuses one of the inputs, the error is that of the engine. O(state).
Result<std::vector<Edit>> edits_of(const StartState& state, const Policy& policy,
                                   const Change& change, const std::vector<MeterValues>& meters,
                                   TimeMs t);

// Returns the workload of the history with the change. The edits of the history have the new values
// too. The change of the state at the beginning comes first. If the engine refuses that change, the
// error is that of the engine. kNotFound: no such account or node; the field names the line of the
// change, such as "nodes[1].like". kInvalid: two clusters have the node, or fewer nodes than should
// go are similar.
Result<Workload> changed(const History& history, const Change& change);

}  // namespace subak::sim

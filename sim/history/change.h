// The change of a what-if question, such as "what if ml.vision had had 3 shares last week?", and
// the workload of a past window with this change. `whatif` asks such questions (server/whatif).
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
  // The name of a node. New nodes copy its description. Nodes that go have the same cluster, GPU
  // product and number of GPUs. Ignored if `remove` is set.
  std::string like;
  // Above 0: how many nodes are added. Below 0: how many are removed, the last by name first.
  std::int64_t count = 0;
  // The name of the one node that is removed. Empty: `like` and `count` say what changes.
  std::string remove;
};

// More load: each job submitted in the window, at or below `account` (empty: all), comes again
// times_milli / 1000 times on average. With 500, each second job comes twice. A copy runs as long
// as its job, and comes at a random time up to limits::kLoadSpreadMs after it.
struct LoadChange {
  std::string account;
  std::int64_t times_milli = 0;
};

// The complete change. It is in force during the whole window.
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

// Returns the inputs that make the change at the time `t` in a state with this policy. It leaves
// out the load, and accounts and nodes that the state does not have. `meters`: start_meters or
// end_meters. Errors: the first refusal by the engine. O(state).
Result<std::vector<Edit>> edits_of(const StartState& state, const Policy& policy,
                                   const Change& change, const std::vector<MeterValues>& meters,
                                   TimeMs t);

// Returns the workload of the history with the change. The inputs that change the state at the
// beginning come first, and later edits of the history get the new values too. Errors: the
// refusal of the engine. kNotFound: no such account or node; the field names the line of the
// change, such as "nodes[1].like". kInvalid: two clusters have the node, or too few nodes are
// similar.
Result<Workload> changed(const History& history, const Change& change);

}  // namespace subak::sim

// Units: groups of nodes whose GPUs a gang of several nodes may claim together. A unit is an NVLink
// clique, a rack or a single node (docs/design/0049). Private to engine/derive/claim_search.
// Example: a gang of 16 GPUs must be in one clique. Any 16 GPUs of the cluster would not help it.
// So the search compares the cliques, and claims the GPUs of one clique.
//
// Threads: one at a time; the object refers to the state and the candidates.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "engine/derive/claim_search/candidates.h"
#include "engine/derive/claim_search/givers.h"
#include "engine/state/state.h"
#include "placement/search/search.h"

namespace subak::derive {

// All units of one kind that have nodes with the product of the candidates.
class Units {
 public:
  // Collects the units of this kind. O(nodes + holds).
  Units(const State& s, const Candidates& candidates, GangArea::Group kind);

  // Returns the units with givers, in the order in which a claim takes them. A later criterion of
  // this list counts only if units are equal by all earlier ones:
  //   - units without a job that may take too long to end (is_slow()) come first
  //   - units whose accounts stay farthest beyond quota come first. The figure of a unit is the
  //     least amount that an account would still hold beyond its quota if all givers of the unit
  //     gave.
  //   - units with the least loss come first: the GPUs of the givers, times their run time so far
  //   - the unit with the lowest node id comes first
  // With `gang.one`, the result leaves out units that are too small for `need`, and, for an
  // exclusive gang, units in which other jobs stay. O(holds of the candidates x depth).
  std::vector<std::uint32_t> in_order(const Givers& givers, GangArea gang, MilliGpu need) const;
  // Returns the givers of a unit, as elements of Candidates::givers().
  std::vector<Giver> givers_in(std::uint32_t unit, const Givers& givers) const;
  // Returns false if no unit with one of these jobs would have room for a gang of this size.
  bool may_fit(const std::vector<Giver>& gone, GangArea gang, MilliGpu need) const;

 private:
  // The GPUs that one job holds in one unit. A unit lists its jobs, and a job lists its units.
  struct Part {
    // In the list of a unit: the job's Giver::index. In the list of a job: the index of the unit.
    std::uint32_t of = 0;
    MilliGpu milligpu = 0;
  };
  struct Unit {
    NodeId lowest;
    // `free`: the free milli-GPU of the unit, including nodes that take no pods. `ending`: the
    // milli-GPU of jobs that are already ending.
    MilliGpu free = 0, ending = 0;
    MilliGpu allocated = 0;
    std::vector<Part> parts;
  };
  // The figures of a unit that in_order() compares.
  struct Rank {
    std::uint32_t unit = 0;
    // True: some job of the unit may take too long to end (is_slow()).
    bool slow = false;
    MilliGpu excess = 0;
    MilliGpu loss = 0;
  };
  // The figures of accounts that in_order() has computed.
  struct Accounts;
  // True if the unit is large enough for `need` when `gone` milli-GPU of its jobs are gone.
  static bool is_enough(const Unit& unit, MilliGpu gone, GangArea gang, MilliGpu need);
  void add_pods(NodeId node, std::uint32_t unit);
  void add_part(std::uint32_t index, std::uint32_t unit, MilliGpu milligpu);
  // Returns the figures of the unit. nullopt: the unit has no givers, or in_order() leaves it out.
  std::optional<Rank> rank_of(std::uint32_t unit, Accounts& accounts, GangArea gang,
                              MilliGpu need) const;

  const State& s_;
  const Candidates& candidates_;
  std::vector<Unit> units_;
  // The units of each job; the index is Giver::index.
  std::vector<std::vector<Part>> units_of_;
};

// Returns what would be lost if the giver ended: its milli-GPU times its run time so far in
// minutes.
MilliGpu loss_of(const State& s, const Giver& giver);

}  // namespace subak::derive

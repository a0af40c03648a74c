// Parts of the fleet that a gang of several nodes may claim: cliques, racks or single nodes
// (docs/design/0084).
// Threads: none; borrows the state.
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
  // O(nodes and their holds).
  Units(const State& s, const Candidates& candidates, GangArea::Group kind);

  // Returns the units with jobs that give, those that a claim takes first:
  //   - those without a job that may take too long to end (is_slow())
  //   - the most beyond its quota: what the least account in it would still hold beyond its quota
  //     if all jobs of the unit gave
  //   - the least loss: what the jobs hold, times their run time
  //   - the lowest node
  // With `gang.one` it leaves out units that are too small for `need`, or that others stay in.
  // O(holds of the candidates x depth).
  std::vector<std::uint32_t> in_order(const Givers& givers, GangArea gang, MilliGpu need) const;
  // Returns the jobs of a unit that give, by Candidates::givers().
  std::vector<Giver> givers_in(std::uint32_t unit, const Givers& givers) const;
  // False: none of the units with one of these jobs could have a gang of this size.
  bool may_fit(const std::vector<Giver>& gone, GangArea gang, MilliGpu need) const;

 private:
  // What a job holds in a unit, or a unit of a job.
  struct Part {
    // The job's index, or the unit.
    std::uint32_t of = 0;
    MilliGpu milligpu = 0;
  };
  struct Unit {
    NodeId lowest;
    // What is free in it, also on closed nodes, and what jobs hold that end anyway.
    MilliGpu free = 0, ending = 0;
    MilliGpu allocated = 0;
    std::vector<Part> parts;
  };
  // What an order compares.
  struct Rank {
    std::uint32_t unit = 0;
    // Some job there may take too long to end (is_slow()).
    bool slow = false;
    MilliGpu excess = 0;
    MilliGpu loss = 0;
  };
  // What an order knows of accounts.
  struct Accounts;
  // True if the unit is large enough once so much of its jobs is gone.
  static bool is_enough(const Unit& unit, MilliGpu gone, GangArea gang, MilliGpu need);
  void add_pods(NodeId node, std::uint32_t unit);
  void add_part(std::uint32_t index, std::uint32_t unit, MilliGpu milligpu);
  // nullopt: no job of the unit gives, or it is left out.
  std::optional<Rank> rank_of(std::uint32_t unit, Accounts& accounts, GangArea gang,
                              MilliGpu need) const;

  const State& s_;
  const Candidates& candidates_;
  std::vector<Unit> units_;
  // By Giver::index: the units of the job.
  std::vector<std::vector<Part>> units_of_;
};

// What the job has run for, times what it holds.
MilliGpu loss_of(const State& s, const Giver& giver);

}  // namespace subak::derive

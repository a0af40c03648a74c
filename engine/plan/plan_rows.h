// Merges domains into the rows of a timeline.
// Threads: none; pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/answers/plan.h"
#include "engine/plan/plan_node.h"

namespace subak::derive {

// A domain and its pieces by time.
struct PlanDomain {
  // The cluster of all its nodes.
  ClusterId cluster;
  // The same as in PlanRow. `rack` is empty if the domain has none.
  std::string product, kind, name, rack;
  // The number of nodes, and their GPUs in milli-GPU.
  std::size_t nodes = 0;
  MilliGpu installed = 0;
  // The pieces in order. Pieces of one kind, job and time are adjacent.
  std::vector<PlanPiece> pieces;
};

// Adds the rows to `plan`, and how many are left out. Domains with the same content share a row. If
// there are still more than PlanAsked::rows, the domains of a rack share one, and then all of a
// product. `domains` must be in display order, and the times of `plan` must be set.
void add_rows(const std::vector<PlanDomain>& domains, const PlanAsked& asked, FleetPlan& plan);

// Compares names with numbers by value: "node-9" comes before "node-10". It is a total order, in
// which only identical names are equal.
bool is_before(const std::string& a, const std::string& b);

}  // namespace subak::derive

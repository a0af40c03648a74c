// Merges domains into the rows of a timeline. Threads: none; pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/answers/plan.h"
#include "engine/plan/plan_node.h"

namespace subak::derive {

// A domain and its pieces by time.
struct PlanDomain {
  // Of all its nodes.
  ClusterId cluster;
  // As in PlanRow. `rack` is empty if there is none.
  std::string product, kind, name, rack;
  // How many it has, and their GPUs in milli-GPU.
  std::size_t nodes = 0;
  MilliGpu installed = 0;
  // In order. Pieces of one kind, job and time are adjacent.
  std::vector<PlanPiece> pieces;
};

// Adds the rows to `plan`, and how many are left out. Domains that do the same share a row. If
// there are still more than PlanAsked::rows, the domains of a rack share one, and then all of a
// product. `domains` are in display order. The times of `plan` are set.
void add_rows(const std::vector<PlanDomain>& domains, const PlanAsked& asked, FleetPlan& plan);

// Compares names with numbers by value: "node-9" before "node-10". A total order: equal only if
// identical.
bool is_before(const std::string& a, const std::string& b);

}  // namespace subak::derive

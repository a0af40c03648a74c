// Merges the timelines of single domains into the rows of a timeline. A domain is an NVLink clique,
// or a node without a clique. Private to engine/plan.
// Threads: any; pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/answers/plan.h"
#include "engine/plan/plan_node.h"

namespace subak::derive {

// A domain and its pieces by time.
struct PlanDomain {
  // The cluster of all nodes of the domain.
  ClusterId cluster;
  // `product`, `kind` and `name` are as in PlanRow. `rack` is empty if the domain is in no rack.
  std::string product, kind, name, rack;
  // The number of nodes, and their GPUs in milli-GPU.
  std::size_t nodes = 0;
  MilliGpu installed = 0;
  // The pieces in order. Pieces of one kind, job and time are adjacent.
  std::vector<PlanPiece> pieces;
};

// Adds the rows to `plan`, and the number of rows that are left out. Domains with the same content
// share a row. If there are still more rows than PlanAsked::rows, all domains of a rack share a
// row. If there are still too many rows, all domains of a product share a row. `domains` must be in
// display order, and the times of `plan` must be set.
void add_rows(const std::vector<PlanDomain>& domains, const PlanAsked& asked, FleetPlan& plan);

// Compares names, and numbers inside them by value: "node-9" comes before "node-10". In this order,
// only identical names are equal.
bool is_before(const std::string& a, const std::string& b);

}  // namespace subak::derive

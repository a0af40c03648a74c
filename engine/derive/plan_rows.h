// From domains to the rows of a picture. Threads: none; pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/derive/plan_node.h"
#include "engine/plan.h"

namespace subak::derive {

// A domain, and what is in it by time.
struct PlanDomain {
  ClusterId cluster;
  std::string product, kind, name, rack;  // as in PlanRow; rack: empty if there is none
  std::size_t nodes = 0;
  MilliGpu installed = 0;
  std::vector<PlanPiece> pieces;  // in order, and those of one kind, job and time together
};

// Rows, and how many are left out. Domains that do the same are one row; if there are more than
// PlanAsked::rows then, those of a rack are, and if there still are, all of a product. `domains`: in the order
// in which rows are shown. The times of `plan` are set.
void add_rows(const std::vector<PlanDomain>& domains, const PlanAsked& asked, FleetPlan& plan);

// Names as people count: "node-9" before "node-10". Total: equal only if the same.
bool is_before(const std::string& a, const std::string& b);

}  // namespace subak::derive

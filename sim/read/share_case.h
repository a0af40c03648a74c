// Reads `subak sim share CASE.json`: the fair-share factors of a tree in a file. The case is an
// object with "tree": [{"account", "user" (null for an account), "parent", "shares" (integer or
// "parent"), "raw_usage", "order"}] and, for classic, "dampening".
// Threads: any.
#pragma once

#include <string>
#include <vector>

#include "accounting/fairtree/fairtree.h"
#include "core/error.h"

namespace subak::sim {

// The contents of a case: a tree with shares and usage, and the dampening.
struct ShareCase {
  std::vector<ShareRow> rows;
  // FairShareDampeningFactor of the classic formula; 1: no dampening.
  double dampening = 1;
};

// Reads the case. Errors name the file and the field.
Result<ShareCase> read_share_case(const std::string& path);

}  // namespace subak::sim

// What `subak sim` prints: the JSON of the manual, and tables of at most 100 columns.
// Threads: none.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "sim/stats.h"
#include "sim/toy.h"
#include "sim/workload.h"

namespace subak::sim {

// One result as an object; several as {"results": [...]}.
void print_json(const std::vector<SimResult>& results, bool several, std::ostream& out);
// One line about the fleet and the window, then figures by policy, then (for one policy) its teams.
void print_table(const Workload& workload, const std::vector<SimResult>& results,
                 std::ostream& out);
// What the bursty toy shows: waits of both kinds, and what was kept idle for the gangs.
void print_bursty(const std::vector<SimResult>& results, std::ostream& out);
void print_toy(const std::vector<ToyRow>& rows, std::ostream& out);

}  // namespace subak::sim

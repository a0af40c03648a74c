// What `subak sim` shows: the JSON of the manual, tables of at most 100 columns, and pictures.
// Threads: none.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "core/error.h"
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

// plot.cc: SVG files. Per policy share-<policy>.svg (parts of the fleet by team over time, with what they
// were entitled to) and load-<policy>.svg (utilisation and queue), and waits.svg (how long jobs waited, one
// curve per policy).
std::string share_plot(const Workload& workload, const SimResult& result);
std::string load_plot(const Workload& workload, const SimResult& result);
std::string waits_plot(const std::vector<SimResult>& results);

// Writes them all into a directory, made if missing. Errors: it cannot be written.
std::optional<Error> write_plots(const Workload& workload, const std::vector<SimResult>& results,
                                 const std::string& directory);

}  // namespace subak::sim

// Writes the output of `subak sim`: JSON as in the manual, tables of at most 100 columns, and
// charts. Threads: one at a time.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "core/error.h"
#include "sim/read/workload.h"
#include "sim/report/stats.h"
#include "sim/toy.h"

namespace subak::sim {

// Prints one result as an object. With `several`, prints all results as {"results": [...]}.
void print_json(const std::vector<SimResult>& results, bool several, std::ostream& out);
// Prints one line about the fleet and the window, then the figures of each policy. For a single
// policy it also prints the teams.
void print_table(const Workload& workload, const std::vector<SimResult>& results,
                 std::ostream& out);
// Prints the results of the bursty toy: the waits of gangs and of short jobs, and the GPUs that
// were idle because they were reserved for the gangs.
void print_bursty(const std::vector<SimResult>& results, std::ostream& out);
// Prints the table of the toy world, one line for each toy.
void print_toy(const std::vector<ToyRow>& rows, std::ostream& out);

// plot.cc: these functions return the SVG files. share-<policy>.svg shows the part of the fleet
// that each team has over time, with the teams' entitlement. load-<policy>.svg shows utilisation
// and queue. waits.svg shows the waits of jobs, with one curve for each policy.
std::string share_plot(const Workload& workload, const SimResult& result);
std::string load_plot(const Workload& workload, const SimResult& result);
std::string waits_plot(const std::vector<SimResult>& results);

// Writes all SVG files into a directory, and makes the directory if it is missing. Errors: a file
// or the directory cannot be written.
std::optional<Error> write_plots(const Workload& workload, const std::vector<SimResult>& results,
                                 const std::string& directory);

}  // namespace subak::sim

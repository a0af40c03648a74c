// The pictures of a simulation, as SVG files: per policy share-<policy>.svg (parts of the fleet by
// team over time, with what they were entitled to) and load-<policy>.svg (utilisation and queue),
// and waits.svg (how long jobs waited, one curve per policy). Threads: none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "sim/stats.h"
#include "sim/workload.h"

namespace subak::sim {

std::string share_plot(const Workload& workload, const SimResult& result);
std::string load_plot(const Workload& workload, const SimResult& result);
std::string waits_plot(const std::vector<SimResult>& results);

// Writes them all into a directory, made if missing. Errors: it cannot be written.
std::optional<Error> write_plots(const Workload& workload, const std::vector<SimResult>& results,
                                 const std::string& directory);

}  // namespace subak::sim

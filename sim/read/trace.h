// Reads a trace of jobs, and the small tables beside it, from files. A trace is a CSV whose header
// names job_id, submit_s, duration_s, gpus and optionally gpu_type, team, user, gang_pods, state.
// The rows of a trace may be in any order. A fleet is a CSV whose header names node, gpus and
// optionally gpu_type, cpus, memory_mib. Threads: any; the functions have no shared state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/quantity.h"
#include "model/node.h"

namespace subak::sim {

// One row of a trace. Times count from the start of the trace.
struct TraceJob {
  // The job_id of the row.
  std::string id;
  DurationMs submit_ms = 0;
  // The time from the job's start to its end, at least 1.
  DurationMs duration_ms = 0;
  // The GPUs of the complete job, above 0.
  MilliGpu milligpu = 0;
  // The allowed products ("A|B" in the file); empty = any.
  std::vector<std::string> products;
  // Team and user as in the file. "none": the file names no team or user.
  std::string team;
  std::string user;
  // The number of pods. 0: as few pods as fit the nodes.
  std::uint32_t gang_pods = 0;
};

// Returns the rows in order of submission; rows of the same time stay in the order of the file.
Result<std::vector<TraceJob>> read_trace(const std::string& path);

// Reads a fleet from a CSV file, or from the output of `kubectl get nodes -o json` in a file whose
// name ends in .json. A text such as "80x8" means 80 nodes of 8 GPUs ("80x8:H100" also names their
// product).
Result<std::vector<NodeSpec>> read_nodes(const std::string& path_or_size);

// Returns the nodes for a replay from kubectl's output (kube/node/node.h). A node has its healthy
// whole GPUs, and no taints, because pods of a trace tolerate no taints. The function leaves out
// nodes without whole GPUs, nodes with shared GPUs, and nodes that take no work now (cordoned, not
// ready, not fit). Errors: the errors of read_kube_nodes(), or no node is left. The error's field
// names the node.
Result<std::vector<NodeSpec>> nodes_to_replay(std::string_view json);

// Reads a table `team,share` or `team,gpus`: a team and a number with up to three decimals. Returns
// the numbers in thousandths. The column with the numbers must have the name `value_column` (or its
// plural), unless the file has only two columns.
Result<std::vector<std::pair<std::string, std::int64_t>>> read_team_table(
    const std::string& path, std::string_view value_column);

// Returns the team of a row as an account path, in lower case. Every character outside [a-z0-9_-]
// becomes '_'.
std::string account_name(std::string_view team);

}  // namespace subak::sim

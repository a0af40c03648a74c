// The map of a cluster's fleet, which `subak cluster map` and the console show: the state and the
// job of each cell. A cell is a GPU that is not cut, or a MIG slice (docs/design/0130). The lists
// refer to each other by index. engine/map makes the map. Threads: any; plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "core/text.h"
#include "placement/cells/node_cells.h"

namespace subak {

// The state of a cell, or of a part of a cell.
enum class CellState : std::uint8_t {
  // Any job may get it.
  kFree,
  // A job holds it, and the job's pod is bound to the node.
  kRunning,
  // A job that is starting holds it: the job's pod is not bound yet.
  kHeld,
  // It is reserved for a job that waits, and idle.
  kReserved,
  // It is idle, but only certain gangs may get it. The node is a spare node, or the GPU is in an
  // exclusive domain, or in a domain that is left to gangs.
  kKept,
  // It is idle on a node that is drained or cordoned.
  kDrained,
  // It is idle, but it cannot be used: the cell is unhealthy, or the node is not ready or not fit.
  kUnfit,
  // A pod that Subak never admitted holds it.
  kForeign,
};
template <>
struct EnumText<CellState> {
  static constexpr std::array<std::string_view, 8> names{"free", "running", "held",  "reserved",
                                                         "kept", "drained", "unfit", "foreign"};
};

struct FleetMap {
  // The value of a field `job` if there is no job.
  static constexpr std::uint32_t kNoJob = UINT32_MAX;

  // A group of nodes.
  struct Area {
    // "product", "superpod", "block", "rack" or "domain"; "level 4" for the fourth level.
    std::string kind;
    std::string name;
    // The index of the area around this one. An area without another one around it has its own
    // index.
    std::uint32_t parent = 0;
    // The number of nodes that are in this area and in no area inside it.
    std::uint32_t nodes = 0;
  };
  // Nodes with the same cells.
  struct NodeKind {
    std::string product;
    // The number of installed GPUs, including those that are cut into slices.
    std::uint32_t gpus = 0;
    CellLayout layout;
    friend bool operator==(const NodeKind&, const NodeKind&) = default;
  };
  // Why a node takes no new pods.
  struct Condition {
    std::string text;
    // kDrained or kUnfit.
    CellState state = CellState::kUnfit;
    friend bool operator==(const Condition&, const Condition&) = default;
  };
  struct Node {
    std::string name;
    // The index of its kind.
    std::uint32_t kind = 0;
    // 0: the node takes new pods. Else the index of its condition, plus 1.
    std::uint32_t condition = 0;
  };
  // The times of a drain that begins or ends by itself.
  struct Drain {
    // The index of the node.
    std::uint32_t node = 0;
    // When the drain begins; 0: it has begun. When it ends by itself; 0: it does not.
    TimeMs from_ms = 0, until_ms = 0;
  };
  // Who pays for jobs. `account` and `user` are empty for jobs without an account.
  struct Owner {
    std::string account, user;
  };
  struct Job {
    JobId id;
    // The index of its owner.
    std::uint32_t owner = 0;
    // When the job's GPUs are expected to be free, by its time limit or the policy's default. 0:
    // not known, or the job holds nothing.
    TimeMs end_ms = 0;
  };
  // Equal cells that follow one another. A run may go on from one node to the next.
  struct Run {
    CellState state = CellState::kFree;
    // The index of the job, or kNoJob.
    std::uint32_t job = kNoJob;
    std::uint32_t cells = 0;
    // If it is above 0, the run is one divided cell with this many entries of `parts`. The first
    // such run has the first entries. The next such run has the entries after them. `state` and
    // `job` are those of the run's first entry.
    std::uint32_t parts = 0;
  };
  // A part of a divided cell: not all of the cell is in one state, or of one job.
  struct Part {
    CellState state = CellState::kFree;
    std::uint32_t job = kNoJob;
    MilliGpu milligpu = 0;
    friend bool operator==(const Part&, const Part&) = default;
  };
  // An amount that pods hold beyond what a node has, since it lost GPUs or was overbooked.
  struct Excess {
    std::uint32_t node = 0;
    Part part;
  };

  // The cluster, and the time of the state.
  ClusterId cluster;
  TimeMs time_ms = 0;
  // The areas. Each area comes before the areas inside it.
  std::vector<Area> areas;
  std::vector<NodeKind> kinds;
  std::vector<Condition> conditions;
  // The nodes of the first area, then those of the second, and so on. In an area, nodes are sorted
  // by name, and numbers in names by their value.
  std::vector<Node> nodes;
  std::vector<Drain> drains;
  std::vector<Owner> owners;
  // The jobs in the order in which they first appear.
  std::vector<Job> jobs;
  // The cells of the first node, then those of the second, and so on. Together, the runs have
  // exactly the cells of all nodes.
  std::vector<Run> runs;
  std::vector<Part> parts;
  std::vector<Excess> excess;
};

}  // namespace subak

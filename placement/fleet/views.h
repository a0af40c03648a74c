// Lists of the fleet for people and metrics. Units: milli-GPU, GPUs. Threads: as the fleet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "placement/fleet/fleet.h"

namespace subak {

// One NVLink domain as `cluster domains` shows it.
struct DomainRow {
  ClusterId cluster;
  // "half-node", "node" or "clique".
  std::string kind;
  // The node's name, the node's name with "/0", or the clique's id.
  std::string name;
  // Present nodes of the domain.
  std::vector<NodeId> nodes;
  // Sums over its nodes, in milli-GPU.
  MilliGpu installed = 0, free = 0;
};
// Returns cliques by first use, then lone nodes (halves where they are split) by id. O(nodes).
std::vector<DomainRow> domain_rows(const Fleet& fleet, ClusterId cluster);

// Slices of one profile on one node.
struct MigRow {
  NodeId node;
  std::string profile;
  // Slices that exist, and those of them that pods hold.
  std::int64_t configured = 0, used = 0;
};
// Returns the slices of all nodes, by node. O(nodes).
std::vector<MigRow> mig_rows(const Fleet& fleet, ClusterId cluster);

// Returns the largest amount of one GPU kind that a single empty node could hold, in GPUs, for
// static checks. An empty product or kAnyProduct: of any product. O(nodes).
std::int64_t largest_node_gpus(const Fleet& fleet, ClusterId cluster, std::string_view product);

// Non-GPU pods on nodes with GPUs, of jobs and of all others. A free GPU is short if it lacks CPU
// or memory that it would have without these pods. The amount is the one reserved for each free
// GPU, else half of the node's part for each of its GPUs. A node is broken if some of its free GPUs
// are short. A domain is broken if one of its nodes is.
struct NonGpuUse {
  // Of all nodes with GPUs: pods, thousandths of a CPU, bytes.
  std::int64_t pods = 0, cpu_milli = 0, memory_bytes = 0;
  // Of nodes that take pods:
  std::int64_t broken_nodes = 0, broken_domains = 0;
  // GPUs that are free on broken nodes, wholly or in part.
  std::int64_t broken_free_gpus = 0;
  // The short ones of these.
  std::int64_t short_gpus = 0;
  // Non-GPU pods on broken nodes.
  std::int64_t broken_pods = 0;
  // What the short GPUs lack.
  bool short_of_cpu = false, short_of_memory = false;
  // The domain with most short GPUs: a clique's name, or a node's. Empty: there is none.
  std::string largest;
  // The short GPUs of that domain.
  std::int64_t largest_short_gpus = 0;
};
// Returns what non-GPU pods take of nodes with GPUs, and the effect. O(nodes and what they hold).
NonGpuUse non_gpu_use(const Fleet& fleet, ClusterId cluster);

// Describes groups of a cluster whose nodes contradict each other, by level and name; at most
// `most`:
//   - a rack or block whose nodes name different groups of the next level: treated as several
//     groups, one in each
//   - a clique whose nodes stand in several racks: it stays one NVLink domain
// The nodes stay in use. O(groups and nodes of cliques).
std::vector<std::string> topology_contradictions(const Fleet& fleet, ClusterId cluster,
                                                 std::size_t most);

}  // namespace subak

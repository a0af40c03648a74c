// Lists of the fleet for people and metrics. Units: milli-GPU, GPUs.
// Threads: several may read a fleet while no thread changes it.
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
  // For a node: its name. For a part of a node (the kind "half-node"): the node's name with "/" and
  // the index of the part, from 0. For a clique: its id.
  std::string name;
  // The present nodes of the domain.
  std::vector<NodeId> nodes;
  // The installed amount of its nodes, and the free amount on those that take pods, in milli-GPU.
  // GPUs that are cut into MIG slices do not count.
  MilliGpu installed = 0, free = 0;
};
// Returns cliques in the order of first use. Then come, by id, nodes without a clique and nodes
// with several NVLink domains inside. Such a node has one row for each of these domains. O(nodes).
std::vector<DomainRow> domain_rows(const Fleet& fleet, ClusterId cluster);

// Slices of one profile on one node.
struct MigRow {
  NodeId node;
  std::string profile;
  // The number of slices that exist, how many of them pods hold, and how many new pods may get.
  std::int64_t configured = 0, used = 0, free = 0;
};
// Returns the slices of all nodes, in the order of nodes. O(nodes).
std::vector<MigRow> mig_rows(const Fleet& fleet, ClusterId cluster);

// Returns the most GPUs of this product that one node has, in GPUs. Static checks use it. An empty
// product or kAnyProduct means any product. O(nodes).
std::int64_t largest_node_gpus(const Fleet& fleet, ClusterId cluster, std::string_view product);

// The resources that non-GPU pods use on nodes with GPUs. Pods of jobs and all other pods count. A
// free GPU is *short* if these pods leave too little CPU or memory for it. Enough is the CPU and
// memory that the policy keeps free for each free GPU (Fleet::gpu_headroom()). If the policy keeps
// nothing free, enough is half of the node's CPU and memory per GPU. A node is *broken* if some of
// its free GPUs are short. A domain is broken if one of its nodes is broken.
struct NonGpuUse {
  // The sums of these pods on all nodes with GPUs: pods, thousandths of a CPU, bytes.
  std::int64_t pods = 0, cpu_milli = 0, memory_bytes = 0;
  // The numbers of broken nodes and of broken domains. These and the next figures count only nodes
  // that take pods.
  std::int64_t broken_nodes = 0, broken_domains = 0;
  // The GPUs that are free on broken nodes, wholly or in part.
  std::int64_t broken_free_gpus = 0;
  // How many of these GPUs are short.
  std::int64_t short_gpus = 0;
  // Non-GPU pods on broken nodes.
  std::int64_t broken_pods = 0;
  // Whether some short GPUs lack CPU, and whether some short GPUs lack memory.
  bool short_of_cpu = false, short_of_memory = false;
  // The domain with most short GPUs: a clique's name, or a node's. Empty: there is none.
  std::string largest;
  // The short GPUs of that domain.
  std::int64_t largest_short_gpus = 0;
};
// Returns the resources that non-GPU pods use on nodes with GPUs, and the GPUs that are short.
// O(nodes and their holds).
NonGpuUse non_gpu_use(const Fleet& fleet, ClusterId cluster);

// Describes the groups of a cluster whose nodes contradict each other, by level and name. Returns
// at most `most` descriptions, of these kinds:
//   - a rack or block whose nodes name different groups of the next level: it counts as several
//     groups, one in each
//   - a clique whose nodes are in several racks: it stays one NVLink domain
// The nodes stay in use. O(groups and nodes of cliques).
std::vector<std::string> topology_contradictions(const Fleet& fleet, ClusterId cluster,
                                                 std::size_t most);

}  // namespace subak

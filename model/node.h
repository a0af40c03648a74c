// The record of a node, with its GPUs and other resources, and the slot of a pod on a node. Inputs
// (reports to the engine) and facts (its durable records) contain these plain records.
// Threads: any; plain values.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "model/request.h"

namespace subak {

// The configured MIG slices of one profile, on all GPUs of the node.
struct MigSlices {
  // The profile without "mig-": "1g.10gb".
  std::string profile;
  // The number of slices on the node, used or free.
  std::int64_t count = 0;
  template <class V>
  void fields(V& v) {
    v(1, "profile", profile);
    v(2, "count", count);
  }
  friend bool operator==(const MigSlices&, const MigSlices&) = default;
};

// The resources of a node that its non-GPU pods use in total. These pods belong to no job.
struct NodeUse {
  // Sums of the pods' requests, in thousandths of a CPU and in bytes.
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  // The number of pod slots in use. Each pod uses one.
  std::int64_t pods = 0;
  // The extended resources in use, sorted by name; each name occurs once.
  std::vector<ResourceCount> extended;
  // The ports that these pods use on the node.
  std::vector<HostPort> host_ports;
  template <class V>
  void fields(V& v) {
    v(1, "cpu_milli", cpu_milli);
    v(2, "memory_bytes", memory_bytes);
    v(3, "pods", pods);
    v(4, "extended", extended);
    v(5, "host_ports", host_ports);
  }
  friend bool operator==(const NodeUse&, const NodeUse&) = default;
};

// The CPU and memory that non-GPU pods must leave free on a node for each free GPU.
struct GpuHeadroom {
  // The amounts for one free GPU, in thousandths of a CPU and in bytes. 0: no amount.
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  // True if there is an amount of CPU or memory. If false, non-GPU pods may use all of the node.
  bool any() const { return cpu_milli > 0 || memory_bytes > 0; }
  friend bool operator==(const GpuHeadroom&, const GpuHeadroom&) = default;
};

// A node. An edge or a command builds the record from a watch, from `kubectl get nodes -o json` or
// from a fleet CSV. A node has one product (nvidia.com/gpu.product without -SHARED or -MIG-...
// suffixes). Each of its GPUs is whole, shared (offered as R replicas), or cut into MIG slices.
// `gpus` is the number of installed physical GPUs.
struct NodeSpec {
  // The name of the node in its cluster. Never empty.
  std::string name;
  // The GPU product as NVIDIA's feature discovery names it: "NVIDIA-H100-80GB-HBM3". Empty: the
  // node never had GPUs. A node that lost all its GPUs still has its product.
  std::string product;
  // The number of physical GPUs, at most limits::kMaxGpusPerNode.
  std::int64_t gpus = 0;
  // The number of GPUs that are installed but not usable: the node's capacity minus its allocatable
  // GPUs.
  std::int64_t unhealthy_gpus = 0;
  // The number of replicas of each time-sliced GPU. 0 or 1: GPUs are not shared.
  std::int64_t replicas = 0;
  // True: the device plugin gives each container at most one replica of shared GPUs.
  bool one_replica = false;
  // The number of GPUs that are cut into MIG slices; the others are whole. `mig` has the slices.
  std::int64_t mig_gpus = 0;
  std::vector<MigSlices> mig;
  // The label nvidia.com/gpu.clique: NVLink joins nodes with the same value. Empty: no such label.
  std::string clique;
  // The groups that the node is in, nearest first: rack, block, superpod. An empty name means that
  // the node names no group at that level. If the rack name is empty, the clique counts as the
  // rack. There are at most limits::kTopologyLevels names. The list does not end with an empty
  // name.
  std::vector<std::string> levels;
  // NVLink joins groups of this many GPUs of the node. 0: it joins all GPUs. 1: it joins no GPUs.
  // 4: it joins the four GPUs in each half of a node with 8 GPUs.
  std::int64_t gpus_per_domain = 0;
  // The RDMA fabric of the node's network cards. A gang that asks for RDMA uses nodes of one fabric
  // only. Empty: no label names the fabric. All nodes without a name count as one fabric.
  std::string fabric;
  // If the kubelet takes all resources of a container from one NUMA node: the GPUs and the CPUs (in
  // thousandths) of one NUMA node. 0: the kubelet has no such rule, or the amount is not known.
  std::int64_t numa_gpus = 0;
  std::int64_t numa_cpu_milli = 0;
  // Allocatable CPU, memory and pod slots, in thousandths of a CPU, bytes and pods. 0: the amount
  // is not known, so the search for a placement does not check this resource.
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t pod_slots = 0;
  // Allocatable extended resources that are not GPUs.
  std::vector<ResourceCount> extended;
  // The node's labels, sorted by key. Node selectors and node affinity match against these labels.
  std::vector<Label> labels;
  // The taints, in the order in which the node lists them.
  std::vector<Taint> taints;
  // The node's condition Ready. Subak places nothing new on a node that is not ready.
  bool ready = true;
  // True: the node is cordoned (spec.unschedulable).
  bool unschedulable = false;
  // While the node is not ready: the time of its last good heartbeat. Pods on the node are charged
  // up to this time.
  TimeMs not_ready_since_ms = 0;
  // Why Subak places no new pods on the node, as text: "nvidia.com/mig.config.state is pending".
  // Pods that are already on the node stay. Empty: the node is fit.
  std::string unfit;
  // True: the node is unfit because its kubelet rejected too many pods, and `unfit` says so. Then
  // `reported_unfit` has what the edge reported as `unfit`. No edge reports these two fields.
  bool rejects = false;
  std::string reported_unfit;
  // True: the node's labels and resources contradict each other about its GPUs. `unfit` names these
  // labels and resources.
  bool contradicts = false;
  // True: it is unknown how many GPUs are healthy, because no GPU is allocatable or the device
  // plugin's pod is not ready. `unfit` says which of the two. `gpus` is 0 if no other field of the
  // node says how many GPUs it has.
  bool gpus_unknown = false;
  // The time at which `gpus_unknown` became true. Reservations of the node stay until
  // limits::kGpusUnknownMs after this time. 0: `gpus_unknown` is false, or that time is over. No
  // edge reports this field.
  TimeMs gpus_unknown_ms = 0;
  // True: the edge reports no GPUs, and the fields about GPUs are those of the last report with
  // GPUs. It can be true only while `gpus_unknown_ms` is set. No edge reports this field.
  bool former_gpus = false;
  // How far the node's clock is behind the service's clock: whole seconds, in milliseconds.
  // Negative: the clock is ahead. 0: the difference is below limits::kClockOffMs or not measured.
  DurationMs clock_behind_ms = 0;
  // The time at which the node lost its clique label. 0: the node has the label, or never had one.
  // The node stays in its last clique until limits::kCliqueKeptMs after this time. No edge reports
  // this field: only the engine sets it.
  TimeMs clique_lost_ms = 0;
  // The clique whose label the node has lost. The node no longer shares a domain with other nodes,
  // but NVLink still joins it to that clique. So no gang can have the node as its exclusive domain.
  // A gang can have the former clique as its exclusive domain only if no pod uses this node. No
  // edge reports this field: the engine stores it until the node has a label again or is removed.
  std::string former_clique;

  // Returns the name of the node's group at level `k`; empty if there is none. Level 0 is the
  // nearest.
  const std::string& level(std::size_t k) const {
    static const std::string kNone;
    return k < levels.size() ? levels[k] : kNone;
  }
  // Sets `levels` without empty names at the end.
  void set_levels(std::vector<std::string> names) {
    while (!names.empty() && names.back().empty()) names.pop_back();
    levels = std::move(names);
  }

  template <class V>
  void fields(V& v) {
    v(1, "name", name);
    v(2, "product", product);
    v(3, "gpus", gpus);
    v(4, "unhealthy_gpus", unhealthy_gpus);
    v(5, "replicas", replicas);
    v(6, "mig_gpus", mig_gpus);
    v(7, "mig", mig);
    v(8, "clique", clique);
    // The nearest level has a field of its own, because the first version stored only that level.
    std::string rack = level(0);
    std::vector<std::string> above(levels.begin() + (levels.empty() ? 0 : 1), levels.end());
    v(9, "rack", rack);
    v(10, "gpus_per_domain", gpus_per_domain);
    v(11, "cpu_milli", cpu_milli);
    v(12, "memory_bytes", memory_bytes);
    v(13, "pod_slots", pod_slots);
    v(14, "extended", extended);
    v(15, "labels", labels);
    v(16, "taints", taints);
    // The field is stored inverted, so that a ready node stores no byte.
    bool not_ready = !ready;
    v(17, "not_ready", not_ready);
    ready = !not_ready;
    v(18, "unschedulable", unschedulable);
    v(19, "not_ready_since_ms", not_ready_since_ms);
    v(20, "former_clique", former_clique);
    v(24, "unfit", unfit);
    v(25, "clique_lost_ms", clique_lost_ms);
    v(26, "levels_above", above);
    v(27, "contradicts", contradicts);
    v(30, "clock_behind_ms", clock_behind_ms);
    v(31, "rejects", rejects);
    v(32, "reported_unfit", reported_unfit);
    v(33, "fabric", fabric);
    v(34, "numa_gpus", numa_gpus);
    v(35, "numa_cpu_milli", numa_cpu_milli);
    v(36, "one_replica", one_replica);
    v(37, "gpus_unknown", gpus_unknown);
    v(38, "gpus_unknown_ms", gpus_unknown_ms);
    v(39, "former_gpus", former_gpus);
    if (!rack.empty() || !above.empty()) above.insert(above.begin(), std::move(rack));
    if (above != levels) levels = std::move(above);
  }
  friend bool operator==(const NodeSpec&, const NodeSpec&) = default;
};

// Returns the taint with which Karpenter or the cluster autoscaler marks a node that it is about to
// remove; nullptr: the node has no such taint.
inline const Taint* leaving_taint(const NodeSpec& node) {
  for (const Taint& taint : node.taints) {
    for (const std::string_view key :
         {"karpenter.sh/disrupted", "karpenter.sh/disruption", "ToBeDeletedByClusterAutoscaler"}) {
      if (taint.key == key) return &taint;
    }
  }
  return nullptr;
}

// A node pool: nodes of a cluster that an autoscaler adds and removes (docs/design/0124).
struct NodePool {
  // A name of a-z, 0-9 and "-" that begins with a letter. No two pools have the same name.
  std::string name;
  // The name of the pool's cluster. Empty: the only cluster.
  std::string cluster;
  // The node label that only the nodes of the pool have.
  Label label;
  // The autoscaler keeps at least `least` nodes, and at most `most`.
  std::uint32_t least = 0;
  std::uint32_t most = 0;
  // A new node of the pool, as its kubelet reports it. `node.name` is empty. `node.labels` includes
  // `label`.
  NodeSpec node;
  // The class of the ProvisioningRequests by which Subak asks for nodes of the pool, such as
  // "best-effort-atomic-scale-up.autoscaling.x-k8s.io". Empty: Subak makes no requests.
  std::string provisioning_class{};
  template <class V>
  void fields(V& v) {
    v(1, "name", name);
    v(2, "cluster", cluster);
    v(3, "label", label);
    v(4, "least", least);
    v(5, "most", most);
    v(6, "new_node", node);
    v(7, "provisioning_class", provisioning_class);
  }
  friend bool operator==(const NodePool&, const NodePool&) = default;
};

// The slot of one pod of a gang: its node, its GPUs on the node, and its cost.
struct PodSlot {
  // The node; 0: the pod has no slot.
  NodeId node;
  // The indexes of the pod's GPUs on the node, as bits. 0 for MIG slices and pods without GPUs.
  std::uint64_t gpu_mask = 0;
  // The cost of the pod in milli-GPU. A whole GPU costs 1000, a replica of a GPU with R replicas
  // floor(1000/R), and a MIG slice mig_slice_milligpu(). A fraction costs what the pod asks for.
  MilliGpu milligpu = 0;

  template <class V>
  void fields(V& v) {
    v(1, "node", node);
    v(2, "gpu_mask", gpu_mask);
    v(3, "milligpu", milligpu);
  }
  friend bool operator==(const PodSlot&, const PodSlot&) = default;
};

}  // namespace subak

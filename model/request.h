// The request of a job: its pods in rank order, each with its Kubernetes constraints, and how close
// together their GPUs must be. Inputs (requests to the engine) and facts (its durable records)
// contain these records. Enum values are durable: append only. model/bounds/ has the bounds of
// every text, list and number. A record with the name of a Kubernetes type (k8s.io/api core/v1)
// means the same as this type.
// Threads: any; plain values, pure functions.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantity.h"
#include "core/text.h"
#include "model/gang_terms.h"

namespace subak {

// The form in which a pod asks for GPUs. A node offers its GPUs in one or several of these forms.
enum class GpuKind : std::uint8_t {
  // No GPU: the pod takes CPU, memory and a pod slot only.
  kNone,
  // Whole GPUs: nvidia.com/gpu.
  kWhole,
  // Replicas of shared GPUs: nvidia.com/gpu.shared.
  kShared,
  // MIG slices of one profile: nvidia.com/mig-<profile>.
  kMig,
  // A fraction: `milligpu` thousandths of one GPU. Only traces and API jobs ask for fractions.
  kFraction,
};
template <>
struct EnumText<GpuKind> {
  static constexpr std::array<std::string_view, 5> names{"none", "whole", "shared", "mig",
                                                         "fraction"};
};

// A label of a node or a pod. Labels are ordered by key, then value.
struct Label {
  // A label key with its prefix, or "metadata.name".
  std::string key;
  std::string value;
  template <class V>
  void fields(V& v) {
    v(1, "key", key);
    v(2, "value", value);
  }
  friend auto operator<=>(const Label&, const Label&) = default;
};

// One matchExpression of a nodeSelectorTerm, with an operator In, NotIn, Exists, DoesNotExist, Gt
// or Lt. The key "metadata.name" (matchFields) means the node's name.
struct Requirement {
  std::string key;
  // One of the operators above, spelled as Kubernetes spells it.
  std::string op;
  // The values: empty for Exists and DoesNotExist, one integer for Gt and Lt.
  std::vector<std::string> values;
  template <class V>
  void fields(V& v) {
    v(1, "key", key);
    v(2, "op", op);
    v(3, "values", values);
  }
  friend bool operator==(const Requirement&, const Requirement&) = default;
};

// requiredDuringScheduling node affinity: terms are ORed, the requirements of one term are ANDed. A
// term without requirements matches no node, as in kube-scheduler.
struct AffinityTerm {
  std::vector<Requirement> requirements;
  template <class V>
  void fields(V& v) {
    v(1, "requirements", requirements);
  }
  friend bool operator==(const AffinityTerm&, const AffinityTerm&) = default;
};

// A toleration matches a taint if their effects and keys match. With the operator Equal, the values
// must match too.
struct Toleration {
  // The taint's key. An empty key with Exists matches every taint.
  std::string key;
  // "Equal" or "Exists". Empty: Equal.
  std::string op;
  // The taint's value, which matters only for Equal.
  std::string value;
  // The taint's effect. Empty: the toleration matches every effect.
  std::string effect;
  template <class V>
  void fields(V& v) {
    v(1, "key", key);
    v(2, "op", op);
    v(3, "value", value);
    v(4, "effect", effect);
  }
  friend bool operator==(const Toleration&, const Toleration&) = default;
};

// A taint of a node. A node with a blocking taint takes only pods that tolerate the taint.
struct Taint {
  std::string key;
  std::string value;
  // NoSchedule, NoExecute or PreferNoSchedule. PreferNoSchedule never blocks.
  std::string effect;
  template <class V>
  void fields(V& v) {
    v(1, "key", key);
    v(2, "value", value);
    v(3, "effect", effect);
  }
  friend bool operator==(const Taint&, const Taint&) = default;
};

// A port of the node that a pod uses. Two pods on one node must not have the same port and protocol
// on the same address.
//
// An entry can also stand for required anti-affinity: pods with the same entry never share a node.
// Its protocol is kApart and a hash of the rule, and its port is 1.
struct HostPort {
  static constexpr std::string_view kApart = "anti-affinity/";
  std::int32_t port = 0;
  // "TCP", "UDP" or "SCTP". Empty: TCP.
  std::string protocol;
  // The address. Empty: 0.0.0.0, which conflicts with every address.
  std::string host_ip;
  template <class V>
  void fields(V& v) {
    v(1, "port", port);
    v(2, "protocol", protocol);
    v(3, "host_ip", host_ip);
  }
  friend bool operator==(const HostPort&, const HostPort&) = default;
};

// A topology spread constraint with whenUnsatisfiable DoNotSchedule, whose selector selects the pod
// itself. The nodes with one value of the label `key` are a domain.
struct TopologySpread {
  // The label of nodes, such as "topology.kubernetes.io/zone".
  std::string key;
  // How many pods more than the domain with the fewest pods a domain may have, with the new pod.
  // From 1.
  std::int64_t max_skew = 0;
  // If there are fewer domains, the fewest pods of a domain count as 0. 0 is the same as 1.
  std::int64_t min_domains = 0;
  // nodeAffinityPolicy Ignore: nodes that the pod's selector and affinity exclude count too.
  bool any_node = false;
  // nodeTaintsPolicy Honor: nodes whose taints the pod does not tolerate do not count.
  bool only_tolerated = false;
  // A hash of the namespace and the selector. The pods of a domain that count are those with an
  // entry of the same group in this list.
  std::int64_t group = 0;
  template <class V>
  void fields(V& v) {
    v(1, "key", key);
    v(2, "max_skew", max_skew);
    v(3, "min_domains", min_domains);
    v(4, "any_node", any_node);
    v(5, "only_tolerated", only_tolerated);
    v(6, "group", group);
  }
  friend bool operator==(const TopologySpread&, const TopologySpread&) = default;
};

// A required term of pod affinity that selects the pod itself. The pods of a gang that have the
// same term are all on nodes with the same value of the label `key`.
struct PodAffinity {
  // The label of nodes.
  std::string key;
  // A hash of the namespace and the selector.
  std::int64_t group = 0;
  template <class V>
  void fields(V& v) {
    v(1, "key", key);
    v(2, "group", group);
  }
  friend bool operator==(const PodAffinity&, const PodAffinity&) = default;
};

// A count of an extended resource that is not a GPU kind (RDMA NICs and the like).
struct ResourceCount {
  // The name of the resource with its domain, such as "rdma/hca".
  std::string name;
  std::int64_t count = 0;
  template <class V>
  void fields(V& v) {
    v(1, "name", name);
    v(2, "count", count);
  }
  friend bool operator==(const ResourceCount&, const ResourceCount&) = default;
};

// The resources that one pod takes from its node.
// CPU and memory are the pod's requests. Both node_selector and affinity must match the node.
struct PodShape {
  GpuKind kind = GpuKind::kNone;
  // The number of whole GPUs, replicas of shared GPUs or MIG slices, as `kind` says. Not used for
  // kNone and kFraction.
  std::int64_t gpus = 0;
  // Only for kFraction: thousandths of one GPU, 1 to 999.
  MilliGpu milligpu = 0;
  // Only for kMig: "1g.10gb", without "mig-".
  std::string profile;
  // The GPU products that the pod may use. Empty: any product.
  std::vector<std::string> products;
  // The requested CPU in thousandths.
  std::int64_t cpu_milli = 0;
  // The requested memory in bytes.
  std::int64_t memory_bytes = 0;
  // Extended resources that are not GPUs.
  std::vector<ResourceCount> extended;
  // Labels that the node must have, each with this value. Empty: any node.
  std::vector<Label> node_selector;
  // Required node affinity: at least one of the terms must match the node. Empty: any node.
  std::vector<AffinityTerm> affinity;
  std::vector<Toleration> tolerations;
  // The ports of the node that the pod uses.
  std::vector<HostPort> host_ports;
  // The most GPUs of one container, if the pod's GPUs belong to several containers. 0: they belong
  // to one container.
  std::int64_t container_gpus = 0;
  // The rules about the domains of the pod and of pods like it. Both lists together have at most
  // limits::kMaxPodRules entries.
  std::vector<TopologySpread> spread;
  std::vector<PodAffinity> near;

  // Makes the pod request no GPUs. The edge calls it for a pod that must wait before its GPUs
  // count, for example for a ResourceClaim.
  void request_no_gpus() {
    kind = GpuKind::kNone;
    gpus = 0;
    profile.clear();
  }
  template <class V>
  void fields(V& v) {
    v(1, "kind", kind);
    v(2, "gpus", gpus);
    v(3, "milligpu", milligpu);
    v(4, "profile", profile);
    v(5, "products", products);
    v(6, "cpu_milli", cpu_milli);
    v(7, "memory_bytes", memory_bytes);
    v(8, "extended", extended);
    v(9, "node_selector", node_selector);
    v(10, "affinity", affinity);
    v(11, "tolerations", tolerations);
    v(12, "host_ports", host_ports);
    v(13, "container_gpus", container_gpus);
    v(14, "spread", spread);
    v(15, "near", near);
  }
  friend bool operator==(const PodShape&, const PodShape&) = default;
};

// A group of `count` pods that have the same shape and consecutive ranks.
struct PodGroup {
  // The number of pods, from 1.
  std::uint32_t count = 1;
  PodShape shape;
  template <class V>
  void fields(V& v) {
    v(1, "count", count);
    v(2, "shape", shape);
  }
  friend bool operator==(const PodGroup&, const PodGroup&) = default;
};

// The request of a complete gang. Its pods have the ranks 0 to N-1 in the order of the groups.
// Either all of its pods start, or none.
struct GangRequest {
  // The groups of pods. Empty for a job of pods, whose shapes come with the pods
  // (fact::JobCreated).
  std::vector<PodGroup> groups;
  // The wishes of the gang. The default means no wishes.
  GangTerms terms = {};

  template <class V>
  void fields(V& v) {
    v(1, "groups", groups);
    terms.request_fields(v);
  }
  // Returns the number of ranks. O(groups).
  std::uint32_t pods() const {
    std::uint32_t n = 0;
    for (const PodGroup& g : groups) n += g.count;
    return n;
  }
  friend bool operator==(const GangRequest&, const GangRequest&) = default;
};

// True if the pod has rules about the domains of other pods.
inline bool has_pod_rules(const PodShape& pod) { return !pod.spread.empty() || !pod.near.empty(); }
// Returns the most GPUs, replicas of shared GPUs or MIG slices that one container of the pod asks
// for.
inline std::int64_t most_in_container(const PodShape& pod) {
  return pod.container_gpus > 0 ? pod.container_gpus : pod.gpus;
}
// True if a resource of this name gives a container access to RDMA network cards: "rdma/*", or
// "nvidia.com/hostdev*" (the names of NVIDIA's Network Operator).
inline bool is_rdma(std::string_view resource) {
  return resource.starts_with("rdma/") || resource.starts_with("nvidia.com/hostdev");
}
// True if the pod asks for an RDMA resource.
inline bool asks_rdma(const PodShape& pod) {
  return std::any_of(pod.extended.begin(), pod.extended.end(),
                     [](const ResourceCount& r) { return r.count > 0 && is_rdma(r.name); });
}
// True if all GPUs of the gang must be on nodes of one RDMA fabric: the gang has several pods, and
// a GPU pod asks for RDMA.
inline bool wants_one_fabric(const GangRequest& r) {
  return r.pods() > 1 && std::any_of(r.groups.begin(), r.groups.end(), [](const PodGroup& g) {
           return g.shape.kind != GpuKind::kNone && asks_rdma(g.shape);
         });
}

// True if the request wants NVLink to join the GPUs of its pods, even if only as a preference. Such
// a request has a topology with NVLink, or it has segments and no topology.
inline bool wants_nvlink(const GangRequest& r) {
  const GangTerms& t = r.terms;
  return t.topology == Topology::kNvlink || t.topology == Topology::kNvlinkExclusive ||
         (t.topology == Topology::kAny && t.segment > 0);
}

}  // namespace subak

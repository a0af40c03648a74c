// A job's request to the fleet: pods in rank order, each with its Kubernetes constraints, and how
// close together their GPUs must be. Plain records: they travel in inputs and facts.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantity.h"
#include "core/text.h"

namespace subak {

enum class GpuKind : std::uint8_t {
  kNone,      // no GPU: takes CPU, memory and a pod slot only
  kWhole,     // nvidia.com/gpu
  kShared,    // nvidia.com/gpu.shared: one replica of a time-sliced GPU
  kMig,       // nvidia.com/mig-<profile>
  kFraction,  // `milligpu` thousandths of one GPU (traces and API jobs)
};
template <>
struct EnumText<GpuKind> {
  static constexpr std::array<std::string_view, 5> names{"none", "whole", "shared", "mig",
                                                         "fraction"};
};

// How close together the GPUs of the gang must be (key subak.gpu/topology).
enum class Topology : std::uint8_t {
  kAny,              // anywhere
  kNode,             // all pods of the gang (or segment) on one node
  kNvlink,           // inside one NVLink domain: half node, node or clique
  kNvlinkExclusive,  // as kNvlink, and no other job uses that domain meanwhile
  kRack,             // inside one rack or clique
};
template <>
struct EnumText<Topology> {
  static constexpr std::array<std::string_view, 5> names{"any", "node", "nvlink",
                                                         "nvlink-exclusive", "rack"};
};

struct Label {
  std::string key;
  std::string value;
  template <class V>
  void fields(V& v) {
    v(1, "key", key);
    v(2, "value", value);
  }
  friend auto operator<=>(const Label&, const Label&) = default;
};

// One matchExpression of a nodeSelectorTerm: In, NotIn, Exists, DoesNotExist, Gt, Lt. A key of
// "metadata.name" (matchFields) tests the node's name.
struct Requirement {
  std::string key;
  std::string op;
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
// term without requirements matches nothing (as kube-scheduler has it).
struct AffinityTerm {
  std::vector<Requirement> requirements;
  template <class V>
  void fields(V& v) {
    v(1, "requirements", requirements);
  }
  friend bool operator==(const AffinityTerm&, const AffinityTerm&) = default;
};

struct Toleration {
  std::string key;  // empty with Exists: every taint
  std::string op;   // "" = Equal, or Exists
  std::string value;
  std::string effect;  // empty: every effect
  template <class V>
  void fields(V& v) {
    v(1, "key", key);
    v(2, "op", op);
    v(3, "value", value);
    v(4, "effect", effect);
  }
  friend bool operator==(const Toleration&, const Toleration&) = default;
};

struct Taint {
  std::string key;
  std::string value;
  std::string effect;  // NoSchedule, NoExecute, PreferNoSchedule (the last never blocks)
  template <class V>
  void fields(V& v) {
    v(1, "key", key);
    v(2, "value", value);
    v(3, "effect", effect);
  }
  friend bool operator==(const Taint&, const Taint&) = default;
};

struct HostPort {
  std::int32_t port = 0;
  std::string protocol;  // "" = TCP
  std::string host_ip;   // "" = 0.0.0.0, which clashes with every address
  template <class V>
  void fields(V& v) {
    v(1, "port", port);
    v(2, "protocol", protocol);
    v(3, "host_ip", host_ip);
  }
  friend bool operator==(const HostPort&, const HostPort&) = default;
};

// A count of an extended resource that is not a GPU kind (RDMA NICs and the like).
struct ResourceCount {
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
struct PodShape {
  GpuKind kind = GpuKind::kNone;
  std::int64_t gpus = 0;              // whole GPUs, replicas or slices per pod, by kind
  MilliGpu milligpu = 0;              // only kFraction: thousandths of one GPU, 1..999
  std::string profile;                // only kMig: "1g.10gb"
  std::vector<std::string> products;  // allowed GPU products; empty = any
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  std::vector<ResourceCount> extended;
  std::vector<Label> node_selector;
  std::vector<AffinityTerm> affinity;
  std::vector<Toleration> tolerations;
  std::vector<HostPort> host_ports;

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
  }
  friend bool operator==(const PodShape&, const PodShape&) = default;
};

// `count` consecutive ranks with the same shape.
struct PodGroup {
  std::uint32_t count = 1;
  PodShape shape;
  template <class V>
  void fields(V& v) {
    v(1, "count", count);
    v(2, "shape", shape);
  }
  friend bool operator==(const PodGroup&, const PodGroup&) = default;
};

// The complete gang, ranks 0..N-1 in the order of its groups. All pods start or none.
struct GangRequest {
  std::vector<PodGroup> groups;
  Topology topology = Topology::kAny;
  bool prefer = false;          // topology is a wish: falls back to kAny
  std::uint32_t segment = 0;    // each N consecutive pods share one domain; 0 = all pods do
  bool mixed_products = false;  // it may have GPUs of several products
  // The gang is split over as few NVLink domains as possible, one part in each. Part sizes differ
  // by one pod, or one segment, at most. For kNvlink, and for segments of kAny.
  bool balanced = false;
  // The number of whole nodes that stay free for replacements in each NVLink domain of several
  // nodes that the gang is in. No other job gets them while the gang is there. may_spare() adds a
  // condition. With `prefer` the search leaves them, but does not reserve them.
  std::uint32_t spare = 0;
  // The gang's GPU pods use a ComputeDomain of NVIDIA's DRA driver. A node takes part in one.
  // DomainRules bounds the number of such gangs in an NVLink domain of several nodes.
  bool compute_domain = false;

  template <class V>
  void fields(V& v) {
    v(1, "groups", groups);
    v(2, "topology", topology);
    v(3, "prefer", prefer);
    v(4, "segment", segment);
    v(5, "mixed_products", mixed_products);
    v(6, "balanced", balanced);
    v(7, "spare", spare);
    v(8, "compute_domain", compute_domain);
  }
  std::uint32_t pods() const {
    std::uint32_t n = 0;
    for (const PodGroup& g : groups) n += g.count;
    return n;
  }
  friend bool operator==(const GangRequest&, const GangRequest&) = default;
};

// True if the request's pods should be joined by NVLink, possibly as a wish: its topology says so,
// or it has segments and no topology.
inline bool wants_nvlink(const GangRequest& r) {
  return r.topology == Topology::kNvlink || r.topology == Topology::kNvlinkExclusive ||
         (r.topology == Topology::kAny && r.segment > 0);
}

// True if the request may be balanced: it names NVLink domains that other jobs may use too.
inline bool may_balance(Topology topology, std::uint32_t segment) {
  return topology == Topology::kNvlink || (topology == Topology::kAny && segment > 0);
}

// True if the request may leave nodes to spare: it names NVLink domains.
inline bool may_spare(Topology topology, std::uint32_t segment) {
  return topology == Topology::kNvlinkExclusive || may_balance(topology, segment);
}

}  // namespace subak

// The bounds of one step of a search: which nodes and GPUs the step may use. A step is one function
// of placement/ways, such as "place the gang in one NVLink domain". It may use the GPUs of a node
// only if the node matches the pod and is within the bounds. A step gets its bounds as an argument.
// A step narrows a copy of the bounds for the steps that it calls, so it has nothing to restore.
// Threads: any; plain values. Private to placement.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/must.h"
#include "placement/fleet/fleet_impl.h"

namespace subak {

// A balanced gang is placed in even parts, each in an NVLink domain of its own (GangTerms). This
// class has the GPUs that the gang's earlier parts have taken. A part takes all GPUs of its domain.
// A split node (NodeState::split) has several NVLink domains inside, and a part there takes only
// the GPUs of one of them.
class TakenDomains {
 public:
  // Marks the GPUs, at least one, as taken by a part of the gang.
  void add(DomainIndex domain, GpuMask gpus) {
    must(gpus != 0, "a part of a balanced gang takes GPUs");
    gpus_[domain] |= gpus;
  }
  // True if one of the GPUs is taken.
  bool any_of(DomainIndex domain, GpuMask gpus) const {
    const auto part = gpus_.find(domain);
    return part != gpus_.end() && (part->second & gpus) != 0;
  }

 private:
  std::map<DomainIndex, GpuMask> gpus_;
};

// The nodes and GPUs that one step may use. By default, a step may use all nodes that match. A
// field that is set leaves out nodes for pods with GPUs, and `near` for all pods. Only
// `spent_counts` and `any_skew` make a rule less strict. If a step finds no placement within narrow
// bounds, there may still be one within wider bounds.
struct Bounds {
  // True: only nodes whose GPUs have NVLink to other GPUs (NodeState::linked).
  bool linked = false;
  // True: no split nodes (NodeState::split), so all GPUs of a node are in one NVLink domain.
  bool unsplit = false;
  // True: only nodes with GPUs that are held or in use already.
  bool fragments = false;
  // Only this product. None: any product.
  ProductId product = {};
  // None of these products. The caller of the search owns the list.
  std::span<const ProductId> without = {};
  // Only nodes of this RDMA fabric. nullptr: any fabric. The text outlives the step.
  const std::string* fabric = nullptr;
  // True: all GPUs of the gang must be of one product. The steps that place a complete gang read
  // this field, and so does the count of spare nodes.
  bool one_product = false;
  // How many whole nodes of a clique must stay free if the gang uses the clique; 0: none.
  std::uint32_t spare = 0;
  // True: broken nodes count as spare nodes too.
  bool spent_counts = false;
  // True: topology spread constraints apply only to the complete gang, so a domain may get as many
  // pods as the loose ceiling says (pod_rules.h). The step's caller checks the complete gang.
  bool any_skew = false;
  // The domain in which the pods of each set must be (PodRules::sets()). The list may be shorter:
  // the pods of further sets may be in any domain. nullptr: the pods of all sets may. The object
  // outlives the step.
  const std::vector<std::uint32_t>* near = nullptr;
  // None of these domains. nullptr: no domain is taken. The object outlives the step.
  const TakenDomains* taken = nullptr;

  // True if the bounds may exclude a matching node because of its product, its NVLink, its fabric
  // or its holds.
  bool any() const {
    return linked || unsplit || fragments || product || !without.empty() || fabric != nullptr;
  }
  // True if nodes of this RDMA fabric may be used.
  bool allows_fabric(const std::string& other) const {
    return fabric == nullptr || *fabric == other;
  }
  // True if GPUs of this product may be used.
  bool allows(ProductId other) const {
    if (product && other != product) return false;
    return std::find(without.begin(), without.end(), other) == without.end();
  }
};

}  // namespace subak

// Which of the nodes that match a pod one step of a search may use for GPUs. A step gets its bounds
// as an argument. It narrows them for the steps below on a copy, so nothing has to be set back.
// Private to placement.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>

#include "core/ids.h"
#include "core/must.h"
#include "placement/fleet/fleet_impl.h"

namespace subak {

// The NVLink domains that earlier parts of a balanced gang use alone: all GPUs of a domain, or the
// GPUs of one domain inside a split node.
class TakenDomains {
 public:
  // Takes the GPUs for a part; at least one GPU.
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

// Each bound leaves out nodes for pods with GPUs; without any, all nodes that match may be used. A
// step that finds nothing within narrow bounds says nothing of wider ones.
struct Bounds {
  // Only products that NVLink joins.
  bool linked = false;
  // Only nodes that are one NVLink domain.
  bool unsplit = false;
  // Only nodes with holds.
  bool fragments = false;
  // Only this one. None: any.
  ProductId product = {};
  // None of these. The caller of the search owns them.
  std::span<const ProductId> without = {};
  // All GPUs of the gang will be of one product. The count of nodes to spare asks, as do the steps
  // that place pods of several shapes.
  bool one_product = false;
  // How many whole nodes of a clique must stay free if the gang uses the clique; 0: none.
  std::uint32_t spare = 0;
  // Broken nodes count as spare too: others replace them.
  bool spent_counts = false;
  // None of these domains. nullptr: none is taken. It outlives the step.
  const TakenDomains* taken = nullptr;

  // True if a node that matches may be out of bounds by its product, its NVLink or its holds.
  bool any() const { return linked || unsplit || fragments || product || !without.empty(); }
  // True if GPUs of this product may be used.
  bool allows(ProductId other) const {
    if (product && other != product) return false;
    return std::find(without.begin(), without.end(), other) == without.end();
  }
};

}  // namespace subak

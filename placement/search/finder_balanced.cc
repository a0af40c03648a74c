// Balanced gangs: in even parts, each in an NVLink domain of its own, over as few as possible.
// Exact for gangs of one shape: each part takes the tightest domain, the larger parts first, and a
// domain that holds a larger part also holds a smaller one.
#include <algorithm>

#include "core/limits.h"
#include "placement/search/finder.h"

namespace subak {

// Returns the rank behind the segment, or the part, that begins with `first`. The larger parts come
// first. If the smaller ones fit at all, they fit into the rest of the tightest domains.
std::uint32_t Finder::part_end(std::uint32_t first, std::uint32_t segment_size) const {
  const auto pods = static_cast<std::uint32_t>(slots_.size());
  if (parts_ == 0) return segment_size > 0 ? std::min(first + segment_size, pods) : pods;
  const std::uint32_t unit = std::max(segment_size, 1u), units = pods / unit;
  const std::uint32_t each = units / parts_, larger = units % parts_ * (each + 1) * unit;
  return first + (first < larger ? each + 1 : each) * unit;
}

// Places the gang over the fewest domains that hold it in even parts.
bool Finder::balanced(Topology topology, std::uint32_t segment_size, const Runs& all) {
  const std::uint32_t unit = std::max(segment_size, 1u);
  const std::uint32_t units = static_cast<std::uint32_t>(slots_.size()) / unit;
  const auto in_parts = [&](std::uint32_t parts) {
    parts_ = parts;
    const bool ok = greedily(topology, segment_size, all);
    parts_ = 0;
    return ok;
  };
  if (in_parts(1)) return true;
  const std::uint32_t most = most_in_one(topology, unit, units);
  if (most == 0) return false;
  const std::uint32_t least = std::max(2u, (units + most - 1) / most);
  const std::uint32_t end =
      std::min({units, limits::kBalancedParts, least + limits::kBalancedTries - 1});
  std::size_t tried = 0;  // parts
  for (std::uint32_t k = least; k <= end; ++k) {
    if (k > least && (tried += k) > limits::kPlaceTries) break;
    if (in_parts(k)) return true;
  }
  return false;
}

// Returns how many of the units with the lowest ranks fit in one domain.
std::uint32_t Finder::most_in_one(Topology topology, std::uint32_t unit, std::uint32_t units) {
  std::uint32_t fits = 0, too_many = units + 1;
  while (fits + 1 < too_many) {
    const std::uint32_t middle = fits + (too_many - fits) / 2;
    const bool ok = segment(topology, runs(0, middle * unit));
    undo_to(0);
    (ok ? fits : too_many) = middle;
  }
  return fits;
}

void Finder::take_domain(std::uint32_t first, std::uint32_t last) {
  for (std::uint32_t rank = first; rank < last; ++rank) {
    const PodSlot& slot = slots_[rank];
    if (slot.milligpu == 0) continue;
    const NodeState& n = node(slot.node.value);
    GpuMask gpus = kAllGpus;
    for (std::int64_t d = 0; n.split && d < inner_domains(n.spec); ++d) {
      const GpuMask mask = inner_domain_mask(n.spec, d);
      if ((mask & slot.gpu_mask) != 0) gpus = mask;
    }
    taken_[n.domain] |= gpus;
    return;
  }
}

bool Finder::taken(NodeIndex i, GpuMask gpus) const {
  const auto part = taken_.find(node(i).domain);
  return part != taken_.end() && (part->second & gpus) != 0;
}

}  // namespace subak

// Which nodes a kind of pod may use, and those nodes in best-fit order. A Filter stands for the
// static part of a pod (cluster, GPU kind, products, selectors, affinity, tolerations); shapes that
// agree on it share one. It is of the fleet as it is and follows it lazily: each use first catches
// up with the nodes that changed since, so filters that nobody asks cost nothing. It belongs to a
// Search. Private to placement.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/ids.h"
#include "placement/fleet.h"
#include "placement/load.h"
#include "placement/request.h"
#include "placement/room.h"

namespace subak {

// Order of domains that can serve equally: least free, then the lowest node in it.
struct DomainKey {
  std::int64_t free = 0;
  NodeIndex low = 0;
  DomainIndex domain = 0;
  friend auto operator<=>(const DomainKey&, const DomainKey&) = default;
};

struct Filter {
  ClusterId cluster;
  PodShape pod;  // only the fields that eligibility reads
  bool tolerates_cordon = false;
  bool counts = false;  // free amounts are whole GPUs or slices: kWhole and kMig

  // Per node: -1 = not eligible or not open; else free whole GPUs or slices (0 for other kinds).
  std::vector<std::int64_t> free;
  std::vector<bool> matches;  // statically, whatever the node's condition
  std::vector<DomainIndex> domain_of;

  struct Domain {
    DomainKey key;
    std::int64_t most = -1;  // largest free of one of its nodes; -1 = no node
  };
  std::vector<Domain> domains;
  // Domains by the largest free amount on one node, each bucket in best-fit order.
  std::vector<std::set<DomainKey>> buckets;
  std::vector<std::int64_t> histogram;  // nodes by free amount
  std::size_t open_nodes = 0;
  std::uint64_t position = 0;  // of the change log that this filter has seen
};

// Brings the filter up to date.
void catch_up(Filter& filter, const Fleet::Impl& fleet);
// What Filter::free says of a node whose room is `room`, -1 aside.
std::int64_t free_count(const Filter& filter, const NodeSpec& spec, const Room& room);

// Calls fn(DomainKey) for each domain that has a node with at least `node_min` free and at least
// `domain_min` in all, in best-fit order, until fn returns true.
template <class F>
bool visit_domains(const Filter& filter, std::int64_t node_min, std::int64_t domain_min, F&& fn) {
  struct Cursor {
    std::set<DomainKey>::const_iterator at, end;
  };
  std::vector<Cursor> cursors;
  const auto first = static_cast<std::size_t>(node_min < 0 ? 0 : node_min);
  for (std::size_t b = first; b < filter.buckets.size(); ++b) {
    const auto& bucket = filter.buckets[b];
    if (bucket.empty()) continue;
    const Cursor c{bucket.lower_bound(DomainKey{domain_min, 0, 0}), bucket.end()};
    if (c.at != c.end) cursors.push_back(c);
  }
  while (!cursors.empty()) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < cursors.size(); ++i) {
      if (*cursors[i].at < *cursors[best].at) best = i;
    }
    if (fn(*cursors[best].at)) return true;
    if (++cursors[best].at == cursors[best].end) {
      cursors.erase(cursors.begin() + static_cast<std::ptrdiff_t>(best));
    }
  }
  return false;
}

}  // namespace subak

#include "engine/derive/kept.h"

#include <utility>

namespace subak::derive {

std::vector<JobId> awaited(const State& s) {
  std::vector<JobId> out;
  for (const auto& [id, cluster] : s.clusters().all()) {
    if (cluster.awaited) out.push_back(cluster.awaited);
  }
  return out;
}

bool choose(const State& s, Search& search, Kept& kept) {
  kept.nodes.clear();
  kept.awaited = awaited(s);
  std::vector<NodeId> ids;
  for (const JobId job : kept.awaited) {
    const Picture picture(s.fleet(), kept.nodes);
    const std::vector<NodeId> nodes = search.drain_set(picture, s.jobs().at(job).shape);
    kept.nodes.keep(nodes, job);
    ids.insert(ids.end(), nodes.begin(), nodes.end());
  }
  kept.freed_at = s.fleet().freed_version() + 1;
  return std::exchange(kept.ids, ids) != ids;
}

bool refresh(const State& s, Search& search, Kept& kept) {
  const bool fresh = kept.freed_at == s.fleet().freed_version() + 1 && kept.awaited == awaited(s);
  return !fresh && choose(s, search, kept);
}

}  // namespace subak::derive

#include "engine/derive/kept.h"

#include <utility>

#include "accounting/entitlement.h"

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

bool is_within_quota(const State& s, const state::Job& job) {
  const ProductDemand least{s.jobs().only_product(s.fleet().request(job.shape)),
                            s.jobs().least_milligpu(job)};
  return within_quota(s.tree(), {job.leaf, {&least, 1}});
}

KeptNodes firm_part(const State& s, const KeptNodes& kept, std::span<const NodeId> ids) {
  KeptNodes firm;
  for (const NodeId id : ids) {
    const JobId owner = kept.owner_of(id);
    const state::Job* const job = s.jobs().find(owner);
    if (job != nullptr && job->shape && is_within_quota(s, *job)) firm.keep({&id, 1}, owner);
  }
  return firm;
}

bool refresh(const State& s, Search& search, Kept& kept) {
  const bool fresh = kept.freed_at == s.fleet().freed_version() + 1 && kept.awaited == awaited(s);
  return !fresh && choose(s, search, kept);
}

}  // namespace subak::derive

// Explains why jobs wait for nodes of pools.
#include <string>

#include "core/must.h"
#include "engine/derive/reasons.h"
#include "engine/derive/reservations.h"

namespace subak::derive {

std::optional<Reason> waits_for_nodes(const Places& places, const state::Job& job) {
  const Growth::Job* const found = places.growth == nullptr ? nullptr : places.growth->find(job.id);
  if (found == nullptr) return std::nullopt;
  must(!found->parts.empty(), "a job that waits for nodes waits for some");
  Reason r = make_reason(ReasonToken::kWaitingForNodes, "", "it starts once");
  for (const Growth::Part& part : found->parts) {
    const Growth::Pool& pool = places.growth->pools[part.pool];
    if (r.subject.empty()) r.subject = pool.name;
    r.detail += r.need == 0 ? " " : " and ";
    r.need += part.nodes;
    r.detail += "pool " + pool.name + " has " + std::to_string(part.nodes) +
                (part.nodes == 1 ? " more node" : " more nodes") + " (it has " +
                std::to_string(pool.present) + " of at most " + std::to_string(pool.most);
    if (pool.starting > 0) r.detail += ", of which " + std::to_string(pool.starting) + " start";
    r.detail += ")";
  }
  return r;
}

Reason waits_for_pools(const std::vector<std::string>& pools) {
  std::string names;
  for (const std::string& name : pools) names += (names.empty() ? " " : " and ") + name;
  return make_reason(ReasonToken::kWaitingForNodes, pools.front(),
                     "the present nodes could not hold it even if they were empty, and with more "
                     "nodes of " +
                         std::string(pools.size() > 1 ? "pools" : "pool") + names +
                         " they could; other jobs or rules come first");
}

}  // namespace subak::derive

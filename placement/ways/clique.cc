// Places all runs on nodes of one NVLink domain of several nodes: the domain with the fewest free
// GPUs that has room for them.
#include <algorithm>

#include "placement/ways/ways.h"

namespace subak {

bool in_clique(GangAttempt& a, const Bounds& bounds, const Runs& runs) {
  must(!runs.empty(), "some pods are placed in a clique");
  const Query& q = a.query();
  const auto try_domain = [&](DomainIndex d) {
    return q.members(d).size() > 1 && inside(a, bounds, runs, &q.members(d));
  };
  const Index& x = runs[0].index;
  if (q.indexed(runs[0], nullptr)) {
    return x.visit(runs[0].pods->shape->gpus, units_of(runs), cpu_ask(q, runs),
                   [&](const DomainKey& d) { return try_domain(d.domain); });
  }
  std::vector<FitKey> order;
  for (const DomainIndex d : x.joined()) order.push_back(q.domain_key(x, d));
  std::sort(order.begin(), order.end());
  return std::any_of(order.begin(), order.end(), [&](const FitKey& key) {
    return try_domain(static_cast<DomainIndex>(key[2]));
  });
}

}  // namespace subak

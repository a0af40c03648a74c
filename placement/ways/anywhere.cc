// Places runs without a topology on as few nodes and domains as possible, so that large gangs find
// room later.
#include <algorithm>

#include "placement/ways/ways.h"

namespace subak {

bool anywhere(GangAttempt& a, const Bounds& bounds, const Runs& runs) {
  must(!runs.empty(), "some pods are placed");
  const Query& q = a.query();
  if (q.compact && (on_one_node(a, bounds, runs, nullptr) || compactly(a, bounds, runs))) {
    return true;
  }
  if (on_fragments(a, bounds, runs)) return true;
  if (on_one_node(a, bounds, runs, nullptr)) return true;
  if (!q.compact && fills_nodes(q, bounds, runs) && compactly(a, bounds, runs)) return true;
  if (runs.size() == 1) return runs[0].count > 1 && spread(a, bounds, runs[0], nullptr);
  return in_clique(a, bounds, runs) ||
         a.each_of(runs, [&](const Run& r) { return anywhere(a, bounds, Runs{r}); });
}

bool inside(GangAttempt& a, const Bounds& bounds, const Runs& runs, Area area) {
  must(area != nullptr && !runs.empty(), "some pods are placed in an area");
  if (runs.size() == 1) return spread(a, bounds, runs[0], area);
  return on_one_node(a, bounds, runs, area) ||
         a.each_of(runs, [&](const Run& r) { return spread(a, bounds, r, area); });
}

}  // namespace subak

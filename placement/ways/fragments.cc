// Places a gang of several pods only on nodes that already have holds, if the complete gang fits
// there.
#include <algorithm>

#include "placement/ways/ways.h"

namespace subak {
namespace {

// False if the index says that the pods do not fit on fragments, or if there is one pod only.
bool may_fit_on_fragments(const Runs& runs) {
  std::int64_t pods = 0;
  for (const Run& r : runs) {
    if (without_gpu(r)) continue;
    const std::int64_t each = r.pods->shape->gpus;
    pods += r.count;
    const bool bounded = r.index.counts() && each > 0;
    if (bounded && r.index.times_on_fragments(each) < r.count) return false;
  }
  return pods > 1;
}

}  // namespace

bool on_fragments(GangAttempt& a, const Bounds& bounds, const Runs& runs) {
  if (a.query().scene.nothing_held || !may_fit_on_fragments(runs)) return false;
  Bounds fragments = bounds;
  fragments.fragments = true;
  const std::size_t mark = a.trial().mark();
  if (on_one_node(a, fragments, runs, nullptr)) return true;
  const bool ok = std::all_of(runs.begin(), runs.end(), [&](const Run& r) {
    return on_one_node(a, fragments, Runs{r}, nullptr) || spread(a, fragments, r, nullptr);
  });
  if (!ok) a.trial().undo_to(mark);
  must(a.trial().mark() == (ok ? mark + pods_of(runs) : mark), "fragments hold all pods, or none");
  return ok;
}

}  // namespace subak

#include "placement/trial/attempt.h"

#include "placement/fleet/compute_domains.h"

namespace subak {

namespace {

bool applies_rules(const Shape& shape, const Terms& terms) {
  return shape.pod_rules && !terms.ignore.pod_rules;
}

}  // namespace

GangAttempt::GangAttempt(Workspace& memory, const Shape& shape, const std::vector<Filter*>& filters,
                         const Scene& scene, const Terms& terms, bool by_state)
    : query_(shape, filters, scene, terms, by_state && !applies_rules(shape, terms)),
      memory_(memory),
      rules_(applies_rules(shape, terms) ? PodRules(shape, query_.scene) : PodRules()),
      trial_(memory.rooms, query_.scene, query_.pods(), rules_),
      spare_nodes_(query_, trial_) {}

bool GangAttempt::computed_by_others(NodeIndex i) {
  const auto [at, fresh] = computed_.try_emplace(i, false);
  if (fresh) at->second = is_computed(query_.scene, i, query_.owner);
  // The nodes of the domain may be reserved for these gangs.
  if (at->second && query_.scene.reserved != nullptr) saw_reserved_ = true;
  return at->second;
}

bool GangAttempt::eligible(const Bounds& bounds, const Index& x, NodeIndex i) {
  const Scene& scene = query_.scene;
  if (!x.knows(i) || (bounds.any() && !query_.within(bounds, x, i))) return false;
  if (bounds.taken != nullptr && x.of_gpus()) {
    const NodeState& n = query_.node(i);
    if (!n.split && bounds.taken->any_of(n.domain, kAllGpus)) return false;
  }
  if (!(scene.all_open ? x.matches(i) : x.open(i) && !x.is_backed_off(i))) return false;
  // A job cannot wait for the spare node of another gang, because no hold on the node has to end.
  if (scene.nothing_held && !scene.all_open && query_.node(i).spare) return false;
  const JobId keeper = scene.owner_of(i);
  if (keeper && keeper != query_.owner) {
    saw_reserved_ = true;
    return false;
  }
  // The rule keep_whole does not apply to nodes that are reserved for this gang.
  if (query_.leaves_some && !keeper && x.of_gpus() && query_.left_to_others(i)) return false;
  if (query_.uses_compute_domain && x.of_gpus() && computed_by_others(i)) return false;
  return bounds.spare == 0 || !x.of_gpus() || spare_nodes_.enough_without(bounds, i);
}

std::int64_t GangAttempt::cap(const Bounds& bounds, const Run& run, NodeIndex i, GpuMask allowed,
                              std::int64_t limit, const Ignore& ignore) {
  if (!eligible(bounds, run.index, i)) return 0;
  limit = rules_.room(bounds, *run.pods, i, limit);
  if (limit <= 0) return 0;
  return pods_that_fit(query_.node(i).spec, room(i), *run.pods->shape, allowed, limit, ignore);
}

bool GangAttempt::fits_all(const Bounds& bounds, const Runs& runs, NodeIndex i, GpuMask allowed) {
  if (runs.size() == 1) return cap(bounds, runs[0], i, allowed, runs[0].count) >= runs[0].count;
  must(!runs.empty(), "a node is tried with some pods");
  const std::size_t mark = trial_.mark();
  const bool ok = place_all(bounds, runs, i, allowed);
  trial_.undo_to(mark);
  return ok;
}

bool GangAttempt::place(const Bounds& bounds, const Run& run, NodeIndex i, GpuMask allowed) {
  if (!eligible(bounds, run.index, i)) return false;
  if (rules_.room(bounds, *run.pods, i, run.count) < run.count) return false;
  return trial_.place(run, i, allowed, query_.ignore);
}

bool GangAttempt::place_all(const Bounds& bounds, const Runs& runs, NodeIndex i, GpuMask allowed) {
  const std::size_t mark = trial_.mark();
  for (const Run& run : runs) {
    if (place(bounds, run, i, allowed)) continue;
    trial_.undo_to(mark);
    return false;
  }
  must(trial_.mark() == mark + pods_of(runs), "runs are placed complete");
  return true;
}

}  // namespace subak

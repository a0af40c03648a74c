// Places all runs in an NVLink domain that no other gang has: the smallest unused one that could
// hold them when empty. The gang gets the whole domain.
#include <algorithm>
#include <bit>

#include "placement/trial/alike.h"
#include "placement/ways/ways.h"

namespace subak {
namespace {

// An unused domain that an exclusive gang could have.
struct Exclusive {
  FitKey key{};
  NodeIndex node = 0;
  GpuMask mask = 0;  // 0: the node's whole clique
};

// True if no pod, not even of this gang, holds any of these GPUs, and they are in no exclusive
// domain of another gang.
bool unused(const GangAttempt& a, NodeIndex i, GpuMask gpus) {
  const Query& q = a.query();
  // False for GPUs that pods of an earlier segment of this gang have taken.
  if ((q.scene.room(i).whole & gpus) != (a.room(i).whole & gpus)) return false;
  if (q.scene.nothing_held) return true;
  const Load& load = q.scene.load(i);
  if ((load.gpus() & gpus) != 0 || load.loose != 0) return false;
  for (const Hold& h : load.holds) {
    if ((h.kept & gpus) != 0 || (gpus == kAllGpus && h.slot.milligpu > 0)) return false;
  }
  return q.scene.kept_holds(q.node(i).home()) == 0;
}

// True if the node is reserved for another job. Some nodes are reserved for no particular job
// (JobId::sequence() is 0), only to exclude them from the search; they do not count here.
bool promised_to_other(const Query& q, NodeIndex i) {
  const JobId keeper = q.scene.owner_of(i);
  return keeper && keeper != q.owner && keeper.sequence() != 0;
}

// True if pods hold a part of the node, and all its GPUs are in one domain. Then no gang can have
// the node, or its clique, exclusively. The result is also false if the node's state does not show
// this.
bool held_by_state(const GangAttempt& a, const Index& x, NodeIndex i) {
  const Query& q = a.query();
  if (!q.by_state || !x.knows(i) || a.differs(i)) return false;
  const std::uint32_t number = x.alike_of(i);
  if (number == kNotAlike) return true;
  const GpuState& s = q.fleet.states[state_of_alike(number)];
  return s.used && inner_domains(s.spec) <= 1;
}

// Appends the domains that the gang could have at this node.
void add_candidates(const GangAttempt& a, const Run& run, NodeIndex i,
                    std::vector<Exclusive>& out) {
  const Query& q = a.query();
  const NodeState& n = q.node(i);
  if (n.former != kNoArea) return;  // by its wires it is in a domain with others
  switch (q.fleet.exclusive_level(q.shape, run.rank, n)) {
    case Fleet::Impl::Level::kInner:
      for (std::int64_t d = 0; d < inner_domains(n.spec); ++d) {
        const GpuMask mask = inner_domain_mask(n.spec, d);
        if (unused(a, i, mask)) out.push_back({{std::popcount(mask), i, d, 0, 0}, i, mask});
      }
      break;
    case Fleet::Impl::Level::kNode:
      if (n.split && !of_slices(run)) break;
      if (unused(a, i, kAllGpus)) out.push_back({{n.spec.gpus, i, 0, 0, 0}, i, kAllGpus});
      break;
    case Fleet::Impl::Level::kClique: {
      must(n.domain != kNoArea && !q.members(n.domain).empty(), "a clique has nodes");
      std::int64_t gpus = 0;
      bool all_unused = true;
      q.fleet.domains[n.domain]->each_wired([&](NodeIndex m) {
        all_unused = all_unused && unused(a, m, kAllGpus) && !promised_to_other(q, m);
        gpus += q.node(m).spec.gpus;
      });
      if (!all_unused) return;
      out.push_back({{gpus, q.members(n.domain).front(), n.domain, 0, 0}, i, 0});
    }
  }
}

}  // namespace

bool exclusively(GangAttempt& a, const Bounds& bounds, const Runs& runs) {
  const Query& q = a.query();
  const Index& x = runs[0].index;
  std::vector<Exclusive> order;
  q.each_node(nullptr, [&](NodeIndex i) {
    if (held_by_state(a, x, i) || !a.eligible(bounds, x, i)) return false;
    const bool clique_seen = !order.empty() && order.back().mask == 0 &&
                             q.node(order.back().node).domain == q.node(i).domain;
    if (!clique_seen) add_candidates(a, runs[0], i, order);
    return false;
  });
  std::sort(order.begin(), order.end(),
            [](const Exclusive& l, const Exclusive& r) { return l.key < r.key; });
  return std::any_of(order.begin(), order.end(), [&](const Exclusive& c) {
    if (c.mask == 0) return inside(a, bounds, runs, &q.members(q.node(c.node).domain));
    return a.fits_all(bounds, runs, c.node, c.mask) && a.place_all(bounds, runs, c.node, c.mask);
  });
}

// Compares the GPU pods of rank's segment with the empty node.
Fleet::Impl::Level Fleet::Impl::exclusive_level(const Shape& s, std::uint32_t rank,
                                                const NodeState& n) const {
  const std::uint32_t pods = s.request().pods();
  const std::uint32_t size = s.request().terms.segment > 0 ? s.request().terms.segment : pods;
  must(size > 0 && rank < pods, "a rank is one of the gang's");
  const std::uint32_t first = rank / size * size, last = std::min(first + size, pods);
  struct Part {
    const PodShape* pod;
    std::uint32_t count;
  };
  std::vector<Part> parts;  // of the segment, by their pods
  for (const Pods& p : s.pods) {
    const std::uint32_t from = std::max(first, p.first), to = std::min(last, p.first + p.count);
    if (from < to && p.shape->kind != GpuKind::kNone) parts.push_back({p.shape, to - from});
  }
  const auto holds_all = [&](GpuMask allowed) {
    if (parts.size() == 1) {
      const std::int64_t count = parts[0].count;
      return pods_that_fit(n.spec, n.empty, *parts[0].pod, allowed, count) >= count;
    }
    Room room = n.empty;
    for (const Part& part : parts) {
      for (std::uint32_t k = 0; k < part.count; ++k) {
        const auto slot = choose(NodeId(1), n.spec, room, *part.pod, allowed);
        if (!slot) return false;
        consume(n.spec, room, *part.pod, *slot);
      }
    }
    return true;
  };
  if (inner_domains(n.spec) > 1 && holds_all(inner_domain_mask(n.spec, 0))) return Level::kInner;
  const DomainIndex home = n.home();
  const bool alone =
      home == kNoArea || domains[home]->members.size() + domains[home]->strays.size() <= 1;
  return alone || holds_all(kAllGpus) ? Level::kNode : Level::kClique;
}

}  // namespace subak

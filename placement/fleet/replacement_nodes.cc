#include "placement/fleet/replacement_nodes.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/must.h"
#include "placement/gpus/eligibility.h"

namespace subak {
namespace {

struct Sparing {
  ShapeId shape;
  std::set<ProductId> products;  // of the gang's holds in the clique
};

bool holds_gpus(const Load& load) {
  return load.allocated > 0 || std::any_of(load.holds.begin(), load.holds.end(),
                                           [](const Hold& h) { return h.slot.milligpu > 0; });
}

bool could_serve(const Shape& s, const Sparing& gang, const NodeState& n) {
  if (s.one_product && !gang.products.contains(n.product)) return false;
  return std::any_of(s.pods.begin(), s.pods.end(), [&](const Pods& p) {
    return p.shape->kind != GpuKind::kNone && eligibility::matches(*p.shape, n.spec) &&
           fits(n.spec, n.empty, *p.shape, kAllGpus);
  });
}

}  // namespace

bool gang_reserves_replacements(const Fleet::Impl& fleet, const Hold& hold) {
  const GangRequest& r = fleet.shape(hold.shape).request();
  return r.terms.spare > 0 && !r.terms.prefer && hold.slot.milligpu > 0;
}

ReplacementNodes replacement_nodes_of(const Fleet::Impl& fleet, DomainIndex domain,
                                      const std::function<const Load&(NodeIndex)>& load_of) {
  ReplacementNodes out;
  const Group& group = *fleet.domains[domain];
  std::map<JobId, Sparing> gangs;
  group.each_wired([&](NodeIndex m) {
    for (const Hold& h : load_of(m).holds) {
      if (!gang_reserves_replacements(fleet, h)) continue;
      Sparing& gang = gangs[h.owner];
      gang.shape = h.shape;
      gang.products.insert(fleet.nodes[m]->product);
    }
  });
  out.wanted = !gangs.empty();
  if (gangs.empty() || group.members.size() <= 1) return out;
  std::vector<std::tuple<bool, std::int64_t, NodeIndex>> free;  // the best first
  for (const NodeIndex m : group.members) {
    const NodeState& n = *fleet.nodes[m];
    const bool works = n.open() && n.spec.unhealthy_gpus == 0;
    if (!holds_gpus(load_of(m))) free.emplace_back(!works, -std::int64_t{m}, m);
  }
  std::sort(free.begin(), free.end());
  for (const auto& entry : gangs) {
    const auto& gang = entry.second;  // clang-14 captures no structured binding
    const Shape& s = fleet.shape(gang.shape);
    std::uint32_t left = s.request().terms.spare;
    std::erase_if(free, [&](const auto& node) {
      const NodeIndex m = std::get<2>(node);
      if (left == 0 || !could_serve(s, gang, *fleet.nodes[m])) return false;
      --left;
      out.nodes.push_back(m);
      return true;
    });
  }
  must(out.nodes.size() <= group.members.size(), "a node is reserved for one gang's replacements");
  std::sort(out.nodes.begin(), out.nodes.end());
  return out;
}

std::vector<NodeIndex> replacement_nodes_to_wait_for(const Scene& scene, const Shape& shape,
                                                     const std::vector<PodSlot>& slots) {
  const Fleet::Impl& fleet = scene.fleet;
  std::set<NodeIndex> used;
  std::map<DomainIndex, Sparing> domains;
  for (const PodSlot& slot : slots) {
    if (slot.milligpu == 0) continue;
    const NodeState& n = *fleet.nodes[slot.node.value];
    used.insert(slot.node.value);
    domains[n.domain].products.insert(n.product);
  }
  std::vector<NodeIndex> out;
  for (const auto& [domain, gang] : domains) {
    if (domain == kNoArea || fleet.domains[domain]->members.size() <= 1) continue;
    std::vector<std::pair<MilliGpu, NodeIndex>> free;
    for (const NodeIndex m : fleet.domains[domain]->members) {
      const NodeState& n = *fleet.nodes[m];
      const bool works = n.open() && n.spec.unhealthy_gpus == 0 && !n.spare;
      if (used.contains(m) || !works || scene.owner_of(m) || !could_serve(shape, gang, n)) continue;
      free.emplace_back(n.load.allocated, m);
    }
    std::sort(free.begin(), free.end());
    const std::size_t most = std::min<std::size_t>(free.size(), shape.request().terms.spare);
    for (std::size_t i = 0; i < most; ++i) out.push_back(free[i].second);
  }
  std::sort(out.begin(), out.end());
  must(out.size() <= domains.size() * shape.request().terms.spare,
       "no more nodes are waited for than the gang asks to spare");
  return out;
}

void Fleet::Impl::choose_replacements(DomainIndex domain) {
  if (domain == kNoArea) return;
  const ReplacementNodes replacement_nodes = replacement_nodes_of(
      *this, domain, [this](NodeIndex m) -> const Load& { return nodes[m]->load; });
  if (domains[domain]->reserves_replacements != replacement_nodes.wanted)
    domains.set_reserves_replacements(domain, replacement_nodes.wanted);
  const std::vector<NodeIndex> members = domains[domain]->members;
  for (const NodeIndex m : members) {
    const bool spare =
        std::binary_search(replacement_nodes.nodes.begin(), replacement_nodes.nodes.end(), m);
    if (nodes[m]->spare == spare) continue;
    nodes[m]->spare = spare;
    refresh(NodeId(m));
  }
}

}  // namespace subak

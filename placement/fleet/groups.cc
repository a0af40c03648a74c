#include "placement/fleet/groups.h"

#include <algorithm>

#include "core/must.h"
#include "placement/fleet/fleet_impl.h"

namespace subak {
namespace {

void insert(std::vector<NodeIndex>& nodes, NodeIndex node) {
  const auto at = std::lower_bound(nodes.begin(), nodes.end(), node);
  must(at == nodes.end() || *at != node, "a node joins a group once");
  nodes.insert(at, node);
}

void remove(std::vector<NodeIndex>& nodes, NodeIndex node) {
  const auto it = std::lower_bound(nodes.begin(), nodes.end(), node);
  must(it != nodes.end() && *it == node, "a node leaves a group that it is in");
  nodes.erase(it);
}

// Returns the number of the group: `index`, or the number of a new group if `index` is kNoArea.
// Sets the group's cluster and name.
std::uint32_t made(std::vector<Owned<Group>>& groups, ClusterId cluster, const std::string& name,
                   std::uint32_t index) {
  if (index == kNoArea) {
    index = static_cast<std::uint32_t>(groups.size());
    groups.push_back(std::make_unique<Group>());
  }
  must(index < groups.size(), "a group's number was given to it");
  groups[index]->cluster = cluster;
  groups[index]->name = name;
  return index;
}

}  // namespace

std::size_t depth_of(const NodeSpec& spec) {
  return std::clamp<std::size_t>(spec.levels.size(), 1, limits::kTopologyLevels);
}

DomainIndex& Domains::clique(ClusterId cluster, const std::string& name) {
  return cliques_[{cluster, name}];
}

void Domains::join(NodeIndex i, NodeState& n) {
  must(n.domain == kNoArea && n.former == kNoArea, "a node that joins a domain is in none");
  const std::string& name = n.spec.clique;
  DomainIndex& domain = name.empty() ? n.own_domain : clique(n.cluster, name);
  n.domain = domain = made(groups_, n.cluster, name, domain);
  insert(groups_[domain]->members, i);
  if (n.spec.former_clique.empty()) return;
  DomainIndex& former = clique(n.cluster, n.spec.former_clique);
  n.former = former = made(groups_, n.cluster, n.spec.former_clique, former);
  insert(groups_[former]->strays, i);
}

void Domains::leave(NodeIndex i, NodeState& n) {
  if (n.domain != kNoArea) remove(groups_[n.domain]->members, i);
  if (n.former != kNoArea) remove(groups_[n.former]->strays, i);
  n.domain = n.former = kNoArea;
}

void Domains::count(const NodeSpec& spec, std::int64_t sign) {
  split_nodes_ += inner_domains(spec) > 1 ? sign : 0;
  must(split_nodes_ >= 0, "a node that is gone was counted");
}

void Domains::keep(Group& g, std::uint32_t holds, bool reserves) {
  must(!g.keeps() || keeping_ > 0, "a domain that reserves nodes is counted");
  keeping_ -= g.keeps() ? 1 : 0;
  g.kept = holds;
  g.reserves_replacements = reserves;
  keeping_ += g.keeps() ? 1 : 0;
  must(keeping_ < groups_.size(), "a domain that reserves nodes is counted once");
}

std::uint32_t Domains::hold_whole(DomainIndex d, bool more) {
  Group& g = *groups_[d];
  must(more || g.kept > 0, "what is kept is counted");
  keep(g, more ? g.kept + 1 : g.kept - 1, g.reserves_replacements);
  return g.kept;
}

void Domains::set_reserves_replacements(DomainIndex d, bool reserves) {
  Group& g = *groups_[d];
  keep(g, g.kept, reserves);
}

void Domains::set_figures(DomainIndex d, DomainFigures figures) {
  must(figures.held >= 0 && figures.whole.working >= 0, "a domain has no less than nothing");
  static_cast<DomainFigures&>(*groups_[d]) = std::move(figures);
}

void Domains::set_left(DomainIndex d, bool left) {
  Group& g = *groups_[d];
  must(!left || (g.whole.working > 0 && g.held == 0), "a domain left to gangs works and is empty");
  g.left = left;
}

void Domains::set_computing(DomainIndex d, std::vector<JobId> gangs) {
  groups_[d]->computing = std::move(gangs);
}

bool Domains::add_held(DomainIndex d, MilliGpu change) {
  Group& g = *groups_[d];
  const bool was_empty = g.held == 0;
  g.held += change;
  must(g.held >= 0, "a domain holds no less than nothing");
  return (g.held == 0) != was_empty;
}

void Domains::check() const {
  std::size_t keeping = 0;
  for (DomainIndex d = 1; d < groups_.size(); ++d) {
    const Group& g = *groups_[d];
    must(std::is_sorted(g.members.begin(), g.members.end()), "members of a domain ascend");
    must(std::is_sorted(g.strays.begin(), g.strays.end()), "strays of a domain ascend");
    keeping += g.keeps() ? 1 : 0;
  }
  must(keeping == keeping_, "domains that reserve nodes are counted");
}

void TopologyLevels::count(const NodeSpec& spec, std::int64_t sign) {
  if (spec.levels.empty()) return;
  must(sign > 0 || named_ > 0, "a node that names a group was counted");
  named_ += static_cast<std::size_t>(sign);
}

void TopologyLevels::move(NodeIndex i, NodeState& n, bool present) {
  if (i >= rack_of_.size()) rack_of_.resize(i + 1);
  for (std::size_t k = 0; k < depth_; ++k) {
    if (n.groups[k] != kNoArea) remove(levels_[k].groups[n.groups[k]]->members, i);
    n.groups[k] = kNoArea;
  }
  std::uint32_t parent = kNoArea;
  for (std::size_t k = depth_; present && k-- > 0;) {
    Level& level = levels_[k];
    std::size_t of = k;
    while (of > 0 && n.spec.level(of).empty()) --of;
    const std::string& said = n.spec.level(of);
    const std::string& name = said.empty() ? n.spec.clique : said;
    std::uint32_t& group =
        name.empty() ? n.own_groups[k] : level.by_name[{n.cluster, parent, of, name}];
    group = made(level.groups, n.cluster, name, group);
    insert(level.groups[group]->members, i);
    level.groups[group]->parent = parent;
    n.groups[k] = parent = group;
  }
  rack_of_[i] = n.groups[0];
  must(present == (n.groups[0] != kNoArea), "a node is in groups while it is present");
}

void TopologyLevels::set_depth(std::size_t wanted, std::vector<Owned<NodeState>>& nodes) {
  must(wanted >= 1 && wanted <= limits::kTopologyLevels,
       "a topology has a level, and not too many");
  if (wanted == depth_) return;
  const auto each = [&](bool present) {
    for (NodeIndex i = 0; i < nodes.size(); ++i) {
      if (nodes[i] && nodes[i]->present) move(i, *nodes[i], present);
    }
  };
  each(false);
  depth_ = wanted;
  each(true);
}

void TopologyLevels::check(NodeIndex i, const NodeState& n) const {
  must(rack_of_[i] == n.groups[0], "a node's rack is its group at the nearest level");
  for (std::size_t k = 0; k < depth_; ++k) {
    const Group& g = *levels_[k].groups[n.groups[k]];
    must(std::binary_search(g.members.begin(), g.members.end(), i), "a group has its nodes");
    must(g.cluster == n.cluster, "a group is within one cluster");
    must(g.parent == (k + 1 < depth_ ? n.groups[k + 1] : kNoArea), "a group is within the next");
  }
}

}  // namespace subak

// Groups of nodes that are close together: NVLink domains, and above them racks, blocks and further
// levels. The fleet updates the groups when a node comes, changes or goes. A search reads them to
// put a gang on nodes of one group.
//
// Units: milli-GPU. Errors: none; wrong calls abort.
// Threads: as Fleet: at a time, one thread may change it or several may read it. Private to
// placement.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/limits.h"
#include "core/quantity.h"
#include "model/node.h"
#include "placement/gpus/load.h"
#include "placement/tables/owned.h"

namespace subak {

struct NodeState;

// Orders NVLink domains of several nodes. The rule DomainRules::keep_whole leaves domains to large
// gangs in this order: the domain with the most working GPUs comes first. On a tie, the domain
// whose first node has the higher number comes first, because small gangs take nodes with low
// numbers first.
struct WholeKey {
  // The number of healthy whole GPUs on those of its nodes that take new pods. 0: fewer than two
  // such nodes have healthy GPUs.
  std::int64_t working = 0;
  // Its node with the lowest number.
  NodeIndex low = 0;
  // The domain itself.
  DomainIndex domain = 0;
  friend bool operator<(const WholeKey& a, const WholeKey& b) {
    return std::tuple(b.working, b.low) < std::tuple(a.working, a.low);
  }
};

// The figures that follow from the nodes of an NVLink domain and from their holds.
struct DomainFigures {
  // The milli-GPU held on nodes that are wired to the domain.
  MilliGpu held = 0;
  // The product of its first node with GPUs.
  ProductId product;
  // Its key in WholeDomains.
  WholeKey whole;
  // The gangs in the domain that use a ComputeDomain; ascending.
  std::vector<JobId> computing;
};

// A group of nodes: an NVLink domain of several nodes (a clique), one node without a clique, a rack
// or a block.
struct Group : DomainFigures {
  // The cluster of all its nodes.
  ClusterId cluster;
  // The name of the clique, rack or block. Empty: the group is one node's own.
  std::string name;
  // The nodes, ascending.
  std::vector<NodeIndex> members;
  // For a clique: nodes that have lost the clique's label, although NVLink still joins them to it
  // (NodeSpec::former_clique); ascending.
  std::vector<NodeIndex> strays;
  // A gang may require a domain for itself (Topology::kNvlinkExclusive). This counts the reasons
  // why the whole group is the exclusive domain of a gang: holds of pods, and nodes with claims.
  std::uint32_t kept = 0;
  // For a rack or block: the group of the next level that contains it.
  std::uint32_t parent = kNoArea;
  // True: some gang in the group asks for spare nodes.
  bool reserves_replacements = false;
  // True: the rule DomainRules::keep_whole leaves this domain to large gangs.
  bool left = false;

  // True if a gang blocks GPUs of this group that it does not hold.
  bool keeps() const { return kept > 0 || reserves_replacements; }
  // Calls fn(NodeIndex) for each node that is wired to the group: its members and its strays.
  template <class F>
  void each_wired(F&& fn) const {
    for (const NodeIndex m : members) fn(m);
    for (const NodeIndex s : strays) fn(s);
  }
};

// All NVLink domains. A node that the cluster still lists is *present*. It is in exactly one
// domain: its clique, or a domain of its own. A domain never loses its number, even when its last
// node goes, so some domains have no nodes.
class Domains {
 public:
  Domains() { groups_.emplace_back(); }

  // The numbers in use are 1 to size() - 1.
  std::size_t size() const { return groups_.size(); }
  const Owned<Group>& operator[](DomainIndex d) const { return groups_[d]; }
  // All domains by number. The first entry is null.
  auto begin() const { return groups_.begin(); }
  auto end() const { return groups_.end(); }
  // How many present nodes have several NVLink domains inside, such as two halves of 4 GPUs.
  std::int64_t split_nodes() const { return split_nodes_; }
  // True if no domain has exclusive holds or spare nodes.
  bool none_keeps() const { return keeping_ == 0; }

  // Puts the node into the domain that its description names. A node that has lost the label of a
  // clique becomes a stray of that clique (NodeState::former). Sets `domain`, `former` and
  // `own_domain` of `node`. Before the call, the node must be in no domain.
  void join(NodeIndex i, NodeState& node);
  // Takes the node out of its domain and out of the strays.
  void leave(NodeIndex i, NodeState& node);
  // Adds a present node with this description to the counts (`sign` 1), or takes it away (-1).
  void count(const NodeSpec& spec, std::int64_t sign);

  // Counts one more exclusive hold on the whole domain, or one less. Returns how many such holds
  // the domain has now.
  std::uint32_t hold_whole(DomainIndex d, bool more);
  // Sets whether gangs in the domain ask for spare nodes.
  void set_reserves_replacements(DomainIndex d, bool reserves);
  void set_figures(DomainIndex d, DomainFigures figures);
  void set_computing(DomainIndex d, std::vector<JobId> gangs);
  // Adds `change` to the milli-GPU held in the domain. Returns true if the domain became empty, or
  // if it was empty and no longer is.
  bool add_held(DomainIndex d, MilliGpu change);
  // Sets whether the domain is held back for gangs. Such a domain must be empty, and at least two
  // of its nodes that take new pods must have healthy GPUs (asserted).
  void set_left(DomainIndex d, bool left);

  // Aborts unless the members of each domain are in order and the counts agree with the domains.
  void check() const;

 private:
  DomainIndex& clique(ClusterId cluster, const std::string& name);
  void keep(Group& group, std::uint32_t holds, bool reserves);

  // The groups by number; entry 0 is not used.
  std::vector<Owned<Group>> groups_;
  std::map<std::pair<ClusterId, std::string>, DomainIndex> cliques_;
  std::int64_t split_nodes_ = 0;
  // The number of groups with keeps().
  std::size_t keeping_ = 0;
};

// Racks, blocks and the levels above. Level 0 is the nearest to the nodes (racks). Each present
// node is in one group of each level.
//
// A node may name a group at each level, by labels. Two nodes are in the same group of a level if
// they name it, and are also in the same group of the level above. So each group is inside one
// group of the level above, whatever the labels say. Example: two nodes name the rack r1, but
// different blocks. They are then in two groups of level 0, both with the name r1.
//
// If a node names no group at a level, its group there has the nodes of its group of the level
// below. At level 0, this is the group of its clique, or else a group of its own.
class TopologyLevels {
 public:
  // Identifies a group of one level: cluster, parent group, naming level and name. The naming level
  // is the level of the label that gave the name. It is lower than the group's own level if the
  // nodes name no group there.
  using Key = std::tuple<ClusterId, std::uint32_t, std::size_t, std::string>;

  TopologyLevels() {
    for (Level& level : levels_) level.groups.emplace_back();
  }

  // The most levels that any present node names, at least 1.
  std::size_t depth() const { return depth_; }
  // How many present nodes name some group.
  std::size_t named() const { return named_; }
  // The groups of one level by number; number 0 is unused. Level 0 is the nearest to the nodes.
  const std::vector<Owned<Group>>& groups(std::size_t level) const { return levels_[level].groups; }
  const std::map<Key, std::uint32_t>& by_name(std::size_t level) const {
    return levels_[level].by_name;
  }
  // For each node that was ever present, its group at the nearest level.
  const std::vector<std::uint32_t>& rack_of() const { return rack_of_; }

  // Adds a present node with this description to the counts (`sign` 1), or takes it away (-1).
  void count(const NodeSpec& spec, std::int64_t sign);
  // Takes the node out of its groups. If the node is present, puts it into the groups that it
  // names.
  void move(NodeIndex i, NodeState& node, bool present);
  // Sets the number of levels, and moves all present nodes. O(nodes) if the number changes.
  void set_depth(std::size_t depth, std::vector<Owned<NodeState>>& nodes);

  // Aborts unless the node is in one group of each level, and each of these groups is inside the
  // group of the next level.
  void check(NodeIndex i, const NodeState& node) const;

 private:
  struct Level {
    // The groups by number; entry 0 is not used.
    std::vector<Owned<Group>> groups;
    std::map<Key, std::uint32_t> by_name;
  };
  // The levels. Only the first depth_ levels are used.
  std::array<Level, limits::kTopologyLevels> levels_;
  std::size_t depth_ = 1;
  std::size_t named_ = 0;
  std::vector<std::uint32_t> rack_of_;
};

// Returns the number of levels up to the highest level that the description names: 1 to
// limits::kTopologyLevels. If it names no level, the result is 1.
std::size_t depth_of(const NodeSpec& spec);

}  // namespace subak

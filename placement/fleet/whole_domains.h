// Chooses the NVLink domains that the rule DomainRules::keep_whole leaves to large gangs: only
// gangs that need several nodes of one domain may use them. The choice depends only on the nodes
// and their holds. Small jobs do not fragment these domains, so a large gang may find room.
// Threads: as Fleet: at a time, one thread may change it or several may read it. Private to
// placement.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "placement/fleet/fleet.h"
#include "placement/fleet/groups.h"

namespace subak {

// The choice for each kind of domain. A kind is a cluster and a product. For each kind, the class
// has a sorted list of the empty domains that a gang could use. The first keep_whole domains of the
// list are left to gangs (Group::left). If keep_whole is 0, the class has no lists.
class WholeDomains {
 public:
  // The cluster and the product of a domain.
  using Kind = std::pair<ClusterId, ProductId>;
  static Kind kind_of(const Group& group) { return {group.cluster, group.product}; }

  // The rules in force.
  const DomainRules& rules() const { return rules_; }
  // Sets the rules and drops all domains. The caller must add the domains again. Returns the
  // domains that were left to gangs before.
  std::vector<DomainIndex> set_rules(const DomainRules& rules, Domains& domains);

  // Call add() when the domain is empty, and remove() when it no longer is. The domain must have
  // several open nodes.
  void add(const Group& group);
  void remove(const Group& group) { kinds_[kind_of(group)].empty.erase(group.whole); }
  // True if there is a list of domains, which may be empty, for this cluster and product. make()
  // and add() begin such a list, and set_rules() drops all lists.
  bool has(Kind kind) const { return kinds_.contains(kind); }
  void make(Kind kind) { kinds_.try_emplace(kind); }
  // Chooses again for the kind, after changes of its domains. Returns the domains that were left to
  // gangs before or are now. Returns none if the choice is the same.
  std::vector<DomainIndex> choose(Kind kind, Domains& domains);

  // Returns the domains left to gangs in the cluster, by product.
  std::vector<DomainIndex> left(ClusterId cluster) const;
  // Returns the domains that would be left to gangs if those in `emptied` were empty too.
  // Ascending.
  std::vector<DomainIndex> left_if_empty(const std::vector<DomainIndex>& emptied,
                                         const Domains& domains) const;

  // Aborts unless Group::left and the empty domains agree with `domains`.
  void check(const Domains& domains) const;

 private:
  struct Choice {
    // The empty domains of several open nodes, in the order in which they are left to gangs.
    std::set<WholeKey> empty;
    // The domains that are left to gangs: the first of `empty`, in this order.
    std::vector<DomainIndex> left;
  };
  DomainRules rules_;
  std::map<Kind, Choice> kinds_;
};

// Computes the figures of the domain from its nodes.
DomainFigures measured(const Fleet::Impl& fleet, DomainIndex domain);

}  // namespace subak

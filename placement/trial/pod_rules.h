// Applies a gang's rules about other pods while a search places the gang: topology spread
// constraints, and required affinity to pods of the same gang (model/request.h). Before a search
// puts pods on a node, GangAttempt asks how many the rules allow there.
//
// A *domain* in this file is a topology domain of Kubernetes: the nodes with one value of a label,
// such as a zone. It is not an NVLink domain.
//
// A spread constraint says: a domain that gets a pod may have at most maxSkew more counted pods
// than the domain with the fewest. It must hold when all pods of the gang have nodes. But the
// search places the pods one after the other. So each step obeys a *ceiling*: the most pods that a
// domain may have meanwhile. Bounds::any_skew says which ceiling counts:
//   - strict: the fewest pods that any domain has before the gang, plus maxSkew. A gang that obeys
//     it meets the constraint, but the gang may not fit.
//   - loose: the mean number of pods in a domain after the gang, rounded down, plus maxSkew. The
//     domain with the fewest pods never has more than the mean. So a gang that exceeds this ceiling
//     cannot meet the constraint. A gang that obeys it may still break the constraint, so hold()
//     checks the complete gang.
//
// Example: maxSkew is 1, and three zones have 2, 0 and 0 pods. For a gang of 4 pods, the strict
// ceiling is 0 + 1 = 1, so at most two of them fit. The loose ceiling is 6 / 3 + 1 = 3. With 2 pods
// in each empty zone the gang meets the constraint.
// If there are fewer domains than minDomains, both ceilings are maxSkew, as in Kubernetes.
//
// A further limit applies to a constraint with nodeAffinityPolicy Honor and minDomains above 1: at
// most maxSkew pods on each node. The reason is that kube-scheduler sees the pod with an affinity
// to the one node that Subak chose. It then counts only this node, as the only domain. One domain
// is fewer than minDomains, so the scheduler takes 0 as the fewest pods.
//
// Units: pods. Errors: none.
// Threads: as the GangAttempt that owns the object. Private to placement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "placement/trial/bounds.h"
#include "placement/trial/run.h"

namespace subak {

struct Scene;
struct Shape;

// The domain of each node, by NodeIndex. 0: the node is in no domain.
using DomainOfNode = std::vector<std::uint32_t>;

// One topology spread constraint of one kind of pods, with the pods that it counts so far.
struct SpreadRule {
  // The constraint, in the shape of the pods; not null.
  const TopologySpread* rule = nullptr;
  // The domain of each node, by the label of the constraint.
  DomainOfNode domain_of;
  // How many counted pods each domain has, including the gang's pods on trial; by domain, from 1.
  std::vector<std::int64_t> pods;
  // The same for each node, by NodeIndex. Empty unless `most_on_node` is set.
  std::vector<std::int64_t> on_node;
  // The two ceilings for a domain, and the limit for a node; `most_on_node` 0: no limit for a node.
  std::int64_t strict = 0, loose = 0, most_on_node = 0;

  // The number of domains.
  std::int64_t domains() const { return static_cast<std::int64_t>(pods.size()) - 1; }
  // Returns the pods of the domain with the fewest; 0 if there are fewer domains than minDomains.
  std::int64_t fewest() const;
};

// The rules of all pods of one gang. The constructor counts the pods that the snapshot has already.
// count() then adds the gang's pods that the search places on trial, which means: before the fleet
// knows of them. The construction is O(nodes) for each constraint of each kind of pods.
class PodRules {
 public:
  // Makes an object without rules, for a gang without rules or for a search that ignores them.
  PodRules() = default;
  // The arguments must outlive the object.
  PodRules(const Shape& shape, const Scene& scene);

  // True if the gang has rules.
  bool any() const { return !kinds_.empty(); }
  // Returns how many more pods of this kind the rules allow on the node, `limit` at most. It
  // applies the ceiling that `bounds` choose, and the domains of Bounds::near. O(rules of this
  // kind).
  std::int64_t room(const Bounds& bounds, const Pods& pods, NodeIndex i, std::int64_t limit) const;
  // Counts `change` pods that were placed on the node, or removed from it if negative.
  void count(const Pods& pods, NodeIndex i, std::int64_t change);
  // True if the gang's pods on trial meet all topology spread constraints. Call it when the gang is
  // complete.
  bool hold() const;

  // The constraints of this kind of pods, the one with the fewest domains first.
  const std::vector<SpreadRule>& spread(const Pods& pods) const;
  // Returns how many counted pods are in the node's domain, for each constraint in the order of
  // spread(). evenly() compares nodes by this result.
  std::vector<std::int64_t> load(const Pods& pods, NodeIndex i) const;

  // The affinity to the gang's own pods. A set has all kinds of pods with the same affinity term.
  // All pods of a set must share a domain.
  std::size_t sets() const { return sets_.size(); }
  bool in_set(std::size_t set, const Pods& pods) const;
  // The domains that are possible for a set, by the label of its term.
  const DomainOfNode& domains_of(std::size_t set) const { return sets_[set].domain_of; }

 private:
  // One kind of the gang's pods, with its rules.
  struct Kind {
    const Pods* pods = nullptr;
    std::vector<SpreadRule> spread;
    std::vector<std::size_t> sets;
    // The gang's pods of this kind on trial, by node.
    std::vector<std::uint32_t> placed;
  };
  // Pods of the gang that must share a domain, by one term of pod affinity.
  struct Set {
    const PodAffinity* term = nullptr;
    DomainOfNode domain_of;
  };
  const Kind& kind_of(const Pods& pods) const;
  void add_spread(const Shape& shape, const Scene& scene, const Pods& pods, Kind& kind);
  void add_sets(const Shape& shape, const Scene& scene);

  // By the index of the shape's Pods. Empty: there are no rules.
  std::vector<Kind> kinds_;
  std::vector<Set> sets_;
};

}  // namespace subak

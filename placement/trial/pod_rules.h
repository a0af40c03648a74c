// The rules of a gang's pods about the domains of other pods: topology spread constraints, and
// required affinity to pods of their own gang (model/request.h). A domain here is a topology
// domain of Kubernetes: the set of nodes with one value of a label.
//
// A gang is placed complete, so its spread counts when all its pods have nodes. While pods are
// placed one after the other, each step keeps to a *ceiling* of pods in a domain:
//   - the strict ceiling is the number of pods in the emptiest domain before the gang, plus the
//     allowed skew. A gang that keeps to it meets the constraint, whatever its other pods do
//   - the loose ceiling assumes that the gang fills the emptiest domains as far as it can. A gang
//     that exceeds it cannot meet the constraint. hold() then checks the complete gang
//
// The scheduler sees a pod whose affinity names the one node that Subak chose. If the constraint
// counts only nodes that match the affinity (nodeAffinityPolicy Honor), the scheduler sees one
// domain with one node. With minDomains above 1, the scheduler then allows maxSkew pods on each
// node. A step keeps to that too. Private to placement.
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
  const TopologySpread* rule = nullptr;
  DomainOfNode domain_of;
  // The pods of each domain that count, with the gang's pods on trial; by domain, from 1.
  std::vector<std::int64_t> pods;
  // The same for each node, by NodeIndex. Empty unless `most_on_node` is set.
  std::vector<std::int64_t> on_node;
  // The ceilings, see above. `most_on_node` 0: no ceiling for a node.
  std::int64_t strict = 0, loose = 0, most_on_node = 0;

  std::int64_t domains() const { return static_cast<std::int64_t>(pods.size()) - 1; }
  // Returns the pods of the domain with the fewest; 0 if there are fewer domains than minDomains.
  std::int64_t fewest() const;
};

// Reads the snapshot when it is made, and follows the pods on trial. O(nodes) for each constraint
// and each kind of pods that has one.
class PodRules {
 public:
  // Without rules: no shape has any, or the search ignores them.
  PodRules() = default;
  // The arguments must outlive the object.
  PodRules(const Shape& shape, const Scene& scene);

  bool any() const { return !kinds_.empty(); }
  // Returns how many more pods of this kind the rules allow on the node, `limit` at most.
  std::int64_t room(const Bounds& bounds, const Pods& pods, NodeIndex i, std::int64_t limit) const;
  // Counts pods that were placed on the node (`change` > 0) or removed from it.
  void count(const Pods& pods, NodeIndex i, std::int64_t change);
  // True if the gang's pods on trial meet all topology spread constraints. The gang is complete.
  bool hold() const;

  // The constraints of this kind of pods, the one with the fewest domains first.
  const std::vector<SpreadRule>& spread(const Pods& pods) const;
  // Returns a key by which evenly() chooses a node: the pods in its domain of each constraint.
  std::vector<std::int64_t> load(const Pods& pods, NodeIndex i) const;

  // The affinity to the gang's own pods. A set is the kinds of pods with one term, which must share
  // a domain.
  std::size_t sets() const { return sets_.size(); }
  bool in_set(std::size_t set, const Pods& pods) const;
  // The domains of a set, by the label of its term.
  const DomainOfNode& domains_of(std::size_t set) const { return sets_[set].domain_of; }

 private:
  struct Kind {
    const Pods* pods = nullptr;
    std::vector<SpreadRule> spread;
    std::vector<std::size_t> sets;
    // The gang's pods of this kind on trial, by node.
    std::vector<std::uint32_t> placed;
  };
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

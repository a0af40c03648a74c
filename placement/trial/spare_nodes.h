// Checks that a gang leaves enough whole nodes of a clique (nodes that NVLink joins) free as spare
// nodes, which replace broken ones (GangTerms::spare). The gang may use a further whole node of the
// clique only while enough others remain free. Each spread uses as few whole nodes as possible. So
// for gangs of one shape in one domain, the search finds a placement if there is one.
// Threads: as the GangAttempt that owns the object. Private to placement.
#pragma once

#include <map>
#include <vector>

#include "placement/trial/query.h"
#include "placement/trial/trial.h"

namespace subak {

// Counts the whole nodes of each clique that remain free beside the pods on trial. It finds the
// whole nodes of a clique once, at the first query, because they depend on the snapshot alone.
class SpareNodes {
 public:
  // Query and trial must outlive this object.
  SpareNodes(const Query& query, const Trial& trial) : query_(query), trial_(trial) {}

  // True if at least `bounds.spare` whole nodes of the node's clique remain free when the gang uses
  // this node too. For a node without a clique the result is true. O(nodes of the clique).
  bool enough_without(const Bounds& bounds, NodeIndex i);

 private:
  // The nodes of one clique that could be spare nodes.
  struct Reserve {
    // The nodes that could run one of the gang's pods; ascending.
    std::vector<NodeIndex> whole;
    // The broken nodes that could run one of the gang's pods if they worked; ascending.
    std::vector<NodeIndex> spent;
  };
  // Returns the clique's nodes that could be spare nodes if the gang used none of them.
  const Reserve& reserve_of(DomainIndex d);
  // Adds the node to `out` if the node is whole, or would be whole if it worked.
  void add(NodeIndex member, Reserve& out) const;

  const Query& query_;
  const Trial& trial_;
  // The results for the cliques that were asked for so far.
  std::map<DomainIndex, Reserve> reserves_;
};

}  // namespace subak

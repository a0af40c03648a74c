// Searches for the placement that a claimant would have if some jobs had ended (docs/design/0049).
// A claimant is the waiting job for which a claim sets GPUs aside. Example: a job of 8 GPUs finds
// no placement now. find({a, b}) searches as if the jobs a and b were gone. Nothing changes in the
// state. Private to engine/derive/claim_search.
// Threads: one at a time; the object refers to the state and the search.
#pragma once

#include <optional>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "engine/derive/claim_search/candidates.h"
#include "engine/state/state.h"
#include "placement/fleet/reserved_nodes.h"
#include "placement/search/search.h"

namespace subak::derive {

// The search of one claimant for a placement on one product.
class WhatIf {
 public:
  // `firm`: nodes that the claimant may not use, because they are reserved for jobs within quota
  // before the claimant would end. `firm` must outlive the object.
  WhatIf(const State& s, Search& search, const state::Job& job, const Candidates& candidates,
         const ReservedNodes& firm);

  // Returns the least milli-GPU of the product that the claimant needs.
  MilliGpu need() const { return need_; }
  // Returns false if too few GPUs would be free even if all givers and all ending jobs were gone. A
  // giver is a job that may have to give its GPUs to the claimant.
  bool may_fit(const std::vector<Giver>& givers) const;
  // Returns a placement that is possible once the givers and the ending jobs are gone, and that no
  // rule refuses. It costs one placement search.
  std::optional<Placement> find(const std::vector<Giver>& givers);

 private:
  const State& s_;
  Search& search_;
  const state::Job& job_;
  const Candidates& candidates_;
  const ReservedNodes* firm_;
  // The nodes of `firm`, and the nodes on which the scheduler refused the job. The value is set
  // only if the scheduler refused the job on some node.
  std::optional<ReservedNodes> and_refused_;
  // All GPU products except the product of the search.
  std::vector<ProductId> without_;
  MilliGpu need_ = 0, free_ = 0;
};

}  // namespace subak::derive

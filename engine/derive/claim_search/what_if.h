// Looks for a placement of a claimant if some jobs were gone (docs/design/0084).
// Threads: none; borrows the state and the search.
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

// One claimant that looks on one product.
class WhatIf {
 public:
  // `firm`: the nodes that are reserved for jobs within quota until the claimant would have ended.
  // It must outlive this.
  WhatIf(const State& s, Search& search, const state::Job& job, const Candidates& candidates,
         const ReservedNodes& firm);

  // What the claimant needs at least, of the product.
  MilliGpu need() const { return need_; }
  // False: even with these gone, and all jobs that end anyway, too few GPUs are free.
  bool may_fit(const std::vector<Giver>& givers) const;
  // Returns the placement that no rule refuses if the givers and the jobs that end anyway were
  // gone. One search.
  std::optional<Placement> find(const std::vector<Giver>& givers);

 private:
  const State& s_;
  Search& search_;
  const state::Job& job_;
  const Candidates& candidates_;
  const ReservedNodes* firm_;
  // The same with the nodes that refused the job, if there are any.
  std::optional<ReservedNodes> and_refused_;
  // The other products.
  std::vector<ProductId> without_;
  MilliGpu need_ = 0, free_ = 0;
};

}  // namespace subak::derive

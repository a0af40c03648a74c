// The oracle's view of quota: who owns GPUs by name, what is not lent, and where quota covers a job.
// Sums by recursion over its own accounts and slots. Threads: none.
#pragma once

#include <string>

#include "tests/oracle/oracle.h"

namespace subak::sim {

// Milli-GPU of a gang of whole GPUs.
MilliGpu cost(const GangRequest& request);
// The product that the job names, the first if it names one for each pod; empty: it may choose.
std::string only_product(const GangRequest& request);

class OracleQuota {
 public:
  explicit OracleQuota(const Oracle& oracle) : o_(oracle) {}

  bool names_products() const;
  // True if the job would use quota of any product for GPUs that quotas name.
  bool takes_named(const Oracle::Job& j, const std::string& product) const;
  // True if it fits on a product where quota covers it on its whole path.
  bool covered_somewhere(const Oracle::Job& j) const;
  // True if quota covers it on its whole path, on this product.
  bool is_covered(const Oracle::Job& j, const std::string& product) const;
  // True if as much stays idle as others do not lend, unless the job only uses what is idle for it,
  // or takes no more than is missing already.
  bool leaves_unlent(const Oracle::Job& j, const std::string& product) const;
  // True if the job cannot be preempted once its pods run.
  static bool is_fixed(const Oracle::Job& j);
  // True if the job cannot be preempted, borrows, and would break a promise of quota by that.
  bool breaks_promise(const Oracle::Job& j, const std::string& product) const;
  // True if the policy gives the job this right to claim.
  bool may_claim(const Oracle::Job& claimant, ClaimRight right) const;
  // True if another job is in its turn, which would borrow, and the chosen one could claim from it.
  // A pass serves such a job first (docs/design/0089).
  bool is_served_first(const Oracle::Job& chosen) const;
  // True if neither a pass nor a preemption causes the fact (docs/design/0084, "Calm").
  bool is_outside_event(const fact::Body& body) const;
  // Why a job that is not ending may not give; empty: it may.
  std::string why_not(const Oracle::Job& claimant, ClaimRight right, const Oracle::Job& v) const;

 private:
  // The account of a job, without its user.
  AccountId account_of(const Oracle::Job& j) const;
  // What jobs hold at or below the account that cannot be preempted. `own`: only of the account's
  // own jobs. With `more` as if `leaf` held it too.
  ProductAmounts fixed(AccountId id, bool own, AccountId leaf, const ProductAmount& more) const;
  // What the account needs so that its promise can be met whoever is preempted.
  MilliGpu need(AccountId id, const std::string& product, AccountId leaf,
                const ProductAmount& more) const;
  MilliGpu needs_below(AccountId id, const std::string& product, AccountId leaf,
                       const ProductAmount& more) const;
  // What is promised by name at or below the account, and the part of it that is held. `more`: with
  // that much more in the hands of `leaf`.
  MilliGpu named(AccountId id, const std::string& product) const;
  MilliGpu held_by_name(AccountId id, const std::string& product, AccountId leaf,
                        MilliGpu more) const;
  // What the account and those below it do not lend of a product (kAnyProduct: of all together) if
  // `leaf` had `more`.
  MilliGpu unlent(AccountId id, const std::string& product, AccountId leaf,
                  const ProductAmount& more) const;
  // Idle GPUs of a product, or of all, on nodes that take work.
  MilliGpu idle(const std::string& product) const;

  const Oracle& o_;
};

}  // namespace subak::sim

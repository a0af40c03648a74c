// The oracle's rules about quota (tests/oracle/oracle.h): which quotas name a product, which GPUs
// are not lent, and where quota covers a job. Each figure is a recursive sum over accounts and
// slots; the engine updates its sums. Units: milli-GPU. Threads: one at a time.
#pragma once

#include <string>

#include "tests/oracle/oracle.h"

namespace subak::sim {

// Returns the milli-GPU of a gang of whole GPUs.
MilliGpu cost(const GangRequest& request);
// Returns the only product that the job may use. If each pod names a product of its own, returns
// that of the first pod. Empty: the job may use several products.
std::string only_product(const GangRequest& request);

class OracleQuota {
 public:
  explicit OracleQuota(const Oracle& oracle) : o_(oracle) {}

  // True if the quota of some account names a product.
  bool names_products() const;
  // True if the job, on this product, would use quota of any product for GPUs that other quotas
  // name.
  bool takes_named(const Oracle::Job& j, const std::string& product) const;
  // True if the job fits on some product on which is_covered() is true.
  bool covered_somewhere(const Oracle::Job& j) const;
  // True if, on this product, quota covers the job at each account with quota on its path.
  bool is_covered(const Oracle::Job& j, const std::string& product) const;
  // True if the job may start on this product without using GPUs that other accounts do not lend.
  // Also true if as many such GPUs were missing before the start.
  bool leaves_unlent(const Oracle::Job& j, const std::string& product) const;
  // True if the job cannot be preempted once its pods run.
  static bool is_fixed(const Oracle::Job& j);
  // True if the job cannot be preempted, and would borrow GPUs that quota promises to others.
  bool breaks_promise(const Oracle::Job& j, const std::string& product) const;
  // True if the policy gives the job this right to claim.
  bool may_claim(const Oracle::Job& claimant, ClaimRight right) const;
  // True if a pass may start the chosen job before the next job in the order. The next job would
  // borrow, and the chosen job could then claim its GPUs (docs/design/0089).
  bool is_served_first(const Oracle::Job& chosen) const;
  // True if neither a pass nor a preemption causes the fact (docs/design/0084, "Calm").
  bool is_outside_event(const fact::Body& body) const;
  // Returns why the job `v` may not be a victim of the claimant; empty: it may. `v` is not ending.
  std::string why_not(const Oracle::Job& claimant, ClaimRight right, const Oracle::Job& v) const;

 private:
  // The account of a job, without its user.
  AccountId account_of(const Oracle::Job& j) const;
  // Returns the GPUs at or below the account that are held by jobs that cannot be preempted. `own`:
  // only by the account's own jobs. The result counts `more` as if a job of `leaf` held it too.
  ProductAmounts fixed(AccountId id, bool own, AccountId leaf, const ProductAmount& more) const;
  // Returns the GPUs that must exist so that the quotas at and below the account can be met, even
  // though the jobs of fixed() keep their GPUs.
  MilliGpu need(AccountId id, const std::string& product, AccountId leaf,
                const ProductAmount& more) const;
  MilliGpu needs_below(AccountId id, const std::string& product, AccountId leaf,
                       const ProductAmount& more) const;
  // named(): the amount of the product that quotas at or below the account name. held_by_name():
  // the part of this amount that jobs hold, if jobs of `leaf` held `more` in addition.
  MilliGpu named(AccountId id, const std::string& product) const;
  MilliGpu held_by_name(AccountId id, const std::string& product, AccountId leaf,
                        MilliGpu more) const;
  // Returns the unused quota of the product that the account and the accounts below it do not lend,
  // if jobs of `leaf` held `more`. kAnyProduct: of all products together.
  MilliGpu unlent(AccountId id, const std::string& product, AccountId leaf,
                  const ProductAmount& more) const;
  // Returns the idle milli-GPU of the product on nodes that take work. kAnyProduct: of all
  // products.
  MilliGpu idle(const std::string& product) const;

  const Oracle& o_;
};

}  // namespace subak::sim

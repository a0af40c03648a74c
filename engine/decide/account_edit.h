// Steps that three decisions share: the edit of one account (account.cc), of several accounts
// (account_batch.cc), and the move of an account (account_move.cc). Each check_...() function
// returns the error for which the edit is refused; nullopt: the edit may go on. Outside of
// engine/decide, only sim/history uses edited_spec() and kFirstUse.
// Threads: one at a time; all functions run inside Engine::apply. Only warn_of_promises() changes
// its decision. edited_spec() is pure, so any thread may call it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "accounting/tree.h"
#include "core/error.h"
#include "model/fact.h"
#include "model/input.h"
#include "placement/fleet/fleet.h"

namespace subak {
class State;
namespace decide {
class Decision;

// The reason of the edit that makes a user at the user's first job.
inline constexpr char kFirstUse[] = "first use";

// Returns the error for an edit that expects the revision `given`.
Error revision_conflict(std::int64_t given, std::int64_t current);

// Returns the account's settings after an edit, with sorted lists. `same` names the fields that
// stay as in `now`.
AccountSpec edited_spec(const AccountSpec& now, AccountSpec spec, const in::UnchangedFields& same);

// True if the account may accept jobs after the edit that it did not accept before.
bool may_accept_more(const AccountSpec& before, const AccountSpec& after);

// Returns the products that the spec names. One of them may be kAnyProduct.
std::set<std::string> products_named(const AccountSpec& spec);

// Gives ids to product names before a fact assigns them. A new name gets the id that the product
// table would assign next, so the same name has the same id in all results of one object.
class ProductIds {
 public:
  // The fleet must outlive the object, and must not change meanwhile.
  explicit ProductIds(const Fleet& fleet) : fleet_(fleet) {}
  ProductId operator()(const std::string& name);
  std::vector<ProductDemand> of(const ProductAmounts& amounts);

 private:
  const Fleet& fleet_;
  std::map<std::string, ProductId> fresh_;
};

// Checks that the quotas of the accounts below the edited account fit into its new quota, and that
// its new quota fits into that of the accounts above it. `quota`: the quota of `spec` by product
// id.
std::optional<Error> check_promises(const AccountTree& tree, const AccountSpec& spec,
                                    const std::vector<ProductDemand>& quota);

// Checks that each hard budget of the spec covers what the account has spent in the present period
// and what its running jobs may still spend. A new budget has to cover only the running jobs.
std::optional<Error> check_budgets(const State& s, const AccountSpec& spec);

// Call it before a move of the account. Checks that each hard budget of the new accounts above
// covers what the account's running jobs may still spend. `parent`: the new parent of the account;
// `to`: its new path, for the error.
std::optional<Error> check_budgets_of_move(const State& s, AccountId id, AccountId parent,
                                           const std::string& to);

// The caller of an edit, and whether the edit overrides another manager of the account.
struct ManagedEdit {
  std::string_view actor;
  bool override_managed = false;
};
// Checks that no other caller manages the account of this path (accounting/edit/managed_by.h). If
// another caller manages it and the edit overrides that, the function sets `overrides` to the
// `managed-by` mark of that caller.
std::optional<Error> check_manager(const AccountTree& tree, std::string_view path,
                                   const ManagedEdit& edit, std::string& overrides);

// Adds a warning to the reply if the facts of an edit would end reservations of nodes or claims on
// GPUs, or move their starts later. In a large state, the function checks nothing, and the warning
// says so. O(state), but only if there are reservations or claims.
void warn_of_promises(Decision& d, const std::vector<fact::Body>& edit);

// Returns why the account cannot be removed; empty: it can. `job`: a job of the account that is not
// done; none: there is no such job.
std::string why_not_removed(const AccountNode& node, JobId job);

}  // namespace decide
}  // namespace subak

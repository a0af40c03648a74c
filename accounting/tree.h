// The account tree: for every account its shares, quota and limits, its current holds and running
// GPUs, and its decayed meters (accounting/decay.h). A job belongs to one account or user, its
// leaf. The start or end of a job changes only the leaf and its ancestors.
//
// usage       the GPU time that the account's jobs held, even if kPlatform pays for a part of it.
//             A parent's usage is the sum over its children and its own jobs.
// surplus     the part of the usage that the account's effective quota does not cover: its own
//             quota, or else the sum of its children's. It is not the sum over the children.
// adjustment  the amount that edits of shares add to the surplus when siblings are ordered; see
//             set().
//
// A path has the same id until the account is moved (accounting/edit/account_move.h). An account
// that is deleted and created again continues with its usage, surplus and adjustment, so it does
// not lose its past usage. An account with a new path begins with the mean of its siblings
// (begin_at_mean()). So a new path brings no advantage either.
//
// The root ("", id 1) exists from the start, with shares 1, no quota of its own and revision 0.
// set() may then give the root a spec like any other account (the engine's genesis fact does so).
//
// Errors: only check() returns an error, which says what is wrong with a spec. The engine checks
// limits and states before it calls the tree. Broken preconditions are asserted.
// Units: amounts in milli-GPU, decayed usage and surplus in milli-GPU x ms, times in ms.
// Threads: one at a time; the engine owns the tree.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "accounting/account.h"
#include "accounting/account_names.h"
#include "accounting/decay.h"
#include "accounting/quota_sums.h"
#include "accounting/second_meters.h"
#include "core/error.h"
#include "core/ids.h"
#include "core/quantity.h"

namespace subak {

// How an edit of shares treats the usage of the past.
enum class ShareEdit : std::uint8_t {
  // An adjustment keeps the account's position among its siblings: the new shares count from now
  // on.
  kFromNowOn,
  // No adjustment is added: the new shares also count for past usage. Earlier adjustments stay.
  kRetroactive,
};

// All accounts and users, live and removed.
class AccountTree {
 public:
  // Half-life 0: usage does not decay.
  explicit AccountTree(DurationMs half_life_ms = 7 * kDayMs);
  const DecayClock& clock() const { return clock_; }

  // --- structure ---------------------------------------------------------------------------------
  // Returns why set() would refuse the spec, with the name of the field; nullopt if set() would
  // accept the spec. kInvalid: the form of the path is wrong (labels [a-z0-9_-]+ joined by dots, a
  // user below an account), a value is out of range, or a list is not sorted. kNotFound: the parent
  // does not exist. kExists: another account names the namespace. kExhausted: there are too many
  // accounts.
  std::optional<Error> check(const AccountSpec& spec) const;
  // Creates the account `id`, revives it if it was removed, or replaces its spec. check() must have
  // passed. `quota`, `limit` and `by_product` are the amounts of the spec by product id. `id` must
  // be id_for(spec.path), because a path always means the same account (asserted). Only a
  // checkpoint that restores all accounts may pass another id.
  //
  // A change of shares adds an adjustment, so that (surplus + adjustment) / shares does not jump at
  // `now`. With 0 shares before or after, and with kRetroactive, it adds none. A change of quota
  // changes the surplus from `now` on, and that of ancestors without a quota of their own.
  void set(AccountId id, const AccountSpec& spec, std::int64_t revision, TimeMs now,
           const std::vector<std::pair<ProductId, MilliGpu>>& quota,
           const std::vector<std::pair<ProductId, MilliGpu>>& limit,
           const BorrowAmounts& by_product = {}, ShareEdit shares = ShareEdit::kFromNowOn);
  // Sets the adjustment of an account that set() has just made under a name that never existed. The
  // function puts the account at its siblings' mean: shares x (sum of sort_surplus / sum of
  // shares), over siblings with shares. The account's target (accounting/order.h) is then exactly
  // its share. If the account is a user, the jobs of its parent that have no user count as one more
  // sibling, with shares 1 and their past usage. Asserts that nothing is allocated. O(siblings).
  void begin_at_mean(AccountId id, TimeMs now);
  // Removes an account. The account must not be the root, and must have no live children and no
  // allocation (asserted). From `now` on, ancestors without a quota of their own no longer count
  // the removed quota.
  void remove(AccountId id, TimeMs now);
  // Restores an account that a checkpoint lists as removed. The account has its id, but find()
  // never returns it.
  void restore_removed(AccountId id, AccountId parent, const AccountSpec& spec,
                       std::int64_t revision);
  // The revision of the whole tree: the number of the last fact that edited an account; 0: there
  // was no edit.
  void set_revision(std::uint64_t seq) { revision_ = seq; }
  std::uint64_t revision() const { return revision_; }
  // Returns the paths and namespaces of all accounts.
  const AccountNames& names() const { return names_; }
  AccountId find(std::string_view path) const { return names_.find(path); }
  // Asserts that the account exists. The reference is valid until an account is added.
  const AccountNode& node(AccountId id) const {
    assert(exists(id));
    return nodes_[id.value];
  }
  // True if the account exists or was removed: the history of a removed account stays.
  bool exists(AccountId id) const {
    return id.value != 0 && id.value < nodes_.size() && nodes_[id.value].id == id;
  }
  AccountId next_id() const;  // the id that the next new name gets
  // Returns the id of the account with this path, live or removed. Returns next_id() if there is
  // none.
  AccountId id_for(std::string_view path) const;
  std::vector<AccountId> preorder() const;  // live accounts, parents first, by id

  // --- holds and running jobs --------------------------------------------------------------------
  // O(depth) for each call. `leaf` is the job's account. The call changes its ancestors too.
  // A held GPU is given to a pod that is not bound yet. A running GPU belongs to a bound pod.
  // Begins a hold. Held GPUs, usage and surplus rise for every account on the path.
  void hold(AccountId leaf, ProductId product, MilliGpu amount, TimeMs now);
  // Turns held GPUs into running GPUs. Usage does not change.
  void bind(AccountId leaf, ProductId product, MilliGpu amount, TimeMs now);
  // Ends held (`was_running` false) or running GPUs. `now` may lie before the account's last
  // change, because an end can be reported late. Usage is exact even for a late report; the surplus
  // changes only from the account's last change on.
  void release(AccountId leaf, ProductId product, MilliGpu amount, bool was_running, TimeMs now);

  // Begins a claim of a job, or ends it (`sign` -1). A claim sets GPUs aside for a job while other
  // jobs still hold them. The amounts count as held for every account on the path, and the job
  // counts for limits on jobs, but no meter changes.
  void claim(AccountId leaf, std::span<const ProductDemand> amounts, int sign = 1);
  // Adds `more`, which may be negative, to the sums of jobs of every account on the path. O(depth).
  void add_sums(AccountId leaf, const JobSums& more);

  // The books of the account's budgets. Only accounting/quota/account_budgets.h
  // changes them.
  std::vector<BudgetBook>& budgets(AccountId id) { return at(id).jobs.budgets; }

  // Returns the sums for rules that depend on other accounts' quotas, such as the unused quota that
  // they do not lend. The functions of these sums take nodes() as an argument.
  const QuotaSums& quota_sums() const { return quota_sums_; }
  const std::vector<AccountNode>& nodes() const { return nodes_; }  // by id, with gaps

  // --- reads, in milli-GPU x ms or milli-GPU -----------------------------------------------------
  // `t` must not be before the account's last change. To read many accounts at one instant, pass a
  // DecayInstant (clock().at(t)). With a DecayInstant, each read costs a few ns.
  double usage(AccountId id, TimeMs t) const { return usage(id, clock_.at(t)); }
  double usage(AccountId id, const DecayInstant& at) const {
    return node(id).meters.usage(clock_, at);
  }
  // Returns the surplus with the adjustment; at least 0.
  double sort_surplus(AccountId id, TimeMs t) const { return sort_surplus(id, clock_.at(t)); }
  double sort_surplus(AccountId id, const DecayInstant& at) const {
    return node(id).meters.sort_surplus(clock_, at);
  }
  // Returns the exact usage without decay.
  GpuTime usage_undecayed(AccountId id, TimeMs t) const {
    return node(id).meters.usage_undecayed(t);
  }

  // --- checkpoint --------------------------------------------------------------------------------
  // Restores the saved meters of `id`. Before the call, set every account, and replay the open
  // holds with hold() and bind(), at any `now`.
  void restore_meters(AccountId id, const AccountMeters::State& meters);

  // Sets another half-life: every decayed meter and adjustment starts again from zero at `now`,
  // with its present rate. Undecayed usage stays. The function also ends the second meters. The
  // caller may then set computed values with restore_meters().
  void restart_meters(DurationMs half_life_ms, TimeMs now);

  // The second meters: meters with the new half-life, while a change of the half-life is under way
  // (accounting/second_meters.h). nullopt: there are none. The caller begins them, and may cancel
  // them. The tree updates them together with its own meters, and ends them in restart_meters().
  std::optional<SecondMeters>& second() { return second_; }
  const std::optional<SecondMeters>& second() const { return second_; }

  // Rises with every edit of the structure: specs, children, effective quotas, half-life.
  std::uint64_t structure_version() const { return edited_.size(); }
  // Returns the accounts that were edited or removed, or whose effective quota changed, since
  // structure version `version` was current. The accounts are in the order of the edits, and an
  // account may come twice.
  std::span<const AccountId> edited_since(std::uint64_t version) const {
    assert(version <= edited_.size());
    return std::span(edited_).subspan(version);
  }
  // Asserts the invariants of every account. O(accounts); for tests.
  void check_invariants() const;

 private:
  friend class AccountMove;  // moves an account with all accounts below it
  using Amounts = std::vector<std::pair<ProductId, MilliGpu>>;

  AccountNode& at(AccountId id);
  AccountNode& slot(AccountId id);  // makes room up to id
  AccountNode& create(AccountId id, const AccountSpec& spec);
  void revive(AccountNode& node);
  void add_to_parent(AccountNode& node);
  void adjust_for_shares(AccountNode& node, std::int64_t new_shares, TimeMs now);
  // Sets the account's effective quota to `next`, and updates the ancestors whose quota depends on
  // it, up to the one below `end`.
  void refresh_quota(AccountNode* node, Amounts next, TimeMs now, AccountId end = {});
  void change_path(AccountId leaf, ProductId product, MilliGpu held, MilliGpu running, TimeMs now);

  DecayClock clock_;
  std::optional<SecondMeters> second_;
  std::vector<AccountNode> nodes_;  // index = id
  AccountNames names_;
  std::vector<AccountId> edited_;  // the accounts in the order of their edits; see edited_since()
  std::uint64_t revision_ = 0;
  QuotaSums quota_sums_;
  MilliGpu claimed_ = 0;  // the milli-GPU of all claims together
};

// Returns the revision of the account's next edit. Revisions continue when a removed account is
// created again. The result is 1 if the account never existed.
inline std::int64_t next_revision(const AccountTree& tree, AccountId id) {
  return tree.exists(id) ? tree.node(id).revision + 1 : 1;
}
// Returns the account's surplus without the adjustment, in milli-GPU x ms.
inline double surplus_of(const AccountTree& tree, AccountId id, TimeMs t) {
  return tree.node(id).meters.surplus(tree.clock(), tree.clock().at(t));
}
// Prefetches the figures of the account that a pass reads: allocation, surplus and adjustment.
inline void prefetch(const AccountTree& tree, AccountId id) {
  const AccountNode* const node = tree.nodes().data() + id.value;
  __builtin_prefetch(node);
  node->meters.prefetch_surplus();
}
// Returns true if `below` is `account` or below it. O(depth).
bool is_below(const AccountTree& tree, AccountId below, AccountId account);
// Returns the parent of any path, even if no account has the path. Returns none for the root, or if
// the parent does not exist.
AccountId parent_of(const AccountTree& tree, std::string_view path);
// Returns the milli-GPU that the account holds and its quota does not cover: the rate of its
// surplus.
MilliGpu beyond_quota(const AccountNode& node);
// Returns the sum of the quotas of the account's children, by product.
std::vector<std::pair<ProductId, MilliGpu>> quota_of_children(const AccountTree& tree,
                                                              const AccountNode& parent);
// Returns true if some account has a quota.
bool has_quotas(const AccountTree& tree);
// Returns true if the account or one above it has a quota above 0 that was configured there. A
// quota of 0 covers no GPUs, so it does not count. O(depth).
bool is_below_quota(const AccountTree& tree, AccountId id);

}  // namespace subak

// The order of siblings in the account tree: which child of an account gets the next start. The
// queue walks down the tree from the root to a job, and applies an order rule at each account. A
// rule gives each child a key, and the child with the smallest key comes first. The rules are pure
// functions. Only usage-tick has a state, UsageTick, which the engine owns.
//
// The policy chooses one of these rules (docs/design/0005):
//   target-share   The default. First come accounts whose quota covers their next job, by
//                  alloc / quota. The others follow by the GPUs that they hold for each part of
//                  their target. Half of the next job's g GPUs count, so the key is
//                  (alloc + g / 2) / target_i (docs/design/0026). Ties: v_i / shares.
//                  The target is the account's part s_i of the shares, corrected by its surplus
//                  v_i, which is past usage beyond quota. If sum v is 0, it is s_i. Else it is
//
//                      target_i = s_i x clamp(1 + gain (1 - v_i / (s_i sum v)), lo, hi_i)
//                      hi_i = (1 - lo (1 - s_i)) / s_i.
//                  A surplus above the account's part of sum v lowers the target.
//                  Example: two accounts have equal shares, and only the first has a surplus. With
//                  the default gain and lo, its target is 1/4, and that of the second is 3/4.
//   exact          decayed usage / shares, with usage exact at each instant. Below one parent this
//                  is the order of Slurm's Fair Tree (SchedMD, "Fair Tree Fairshare Algorithm").
//   usage-tick     decayed usage / shares, with usage as of the last tick (UsageTick)
//   drf            allocation / shares: weighted dominant resource fairness (Ghodsi et al.,
//                  NSDI'11) with GPUs as the only resource
//   fifo           submit time
//
// Threads: one at a time for a UsageTick; all other functions are pure.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "accounting/tree.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "core/text.h"

namespace subak {

// The rule that orders siblings. Facts (the engine's durable records) store these values: only
// append new ones.
enum class OrderPolicy : std::uint8_t {
  // The default rule: siblings within quota by allocation / quota, then the others by allocation /
  // target.
  kTargetShare,
  // Orders by decayed usage / shares, with usage exact at each instant.
  kExact,
  // Slurm's rule: orders by decayed usage / shares, with usage as of the last tick.
  kUsageTick,
  // Orders by allocation / shares. Past usage has no influence.
  kDrf,
  // Orders jobs by submit time alone, over all accounts.
  kFifo,
};
template <>
struct EnumText<OrderPolicy> {
  static constexpr std::array<std::string_view, 5> names{"target-share", "exact", "usage-tick",
                                                         "drf", "fifo"};
};

// The constants of target-share. The policy sets them (model/policy.h).
struct TargetShareRule {
  // How strongly the surplus changes the target. 0: the surplus does not change the target.
  double gain = 32;
  // No target falls below this part of the sibling's share.
  double lo = 0.5;
};

// The fields that a rule reads of one child. The child has at least one job that may start; its
// next job is the one that would start first.
struct Sibling {
  // The id of the account. The id decides between siblings that are otherwise equal.
  AccountId id;
  // The account's weight among its siblings. order_keys() says what 0 means.
  double shares = 0;
  // The GPUs that the account holds, on hold and running together.
  MilliGpu alloc = 0;
  // The GPUs that the account's next job will take. Only kTargetShare reads this field.
  MilliGpu next = 0;
  // The account's effective quota of all products together. 0: the account has no quota.
  MilliGpu quota = 0;
  // True: the account's next job would be within quota at this account and at every account below
  // it.
  bool within_quota = false;
  // The sum of the account's surplus and adjustment, decayed to now, in milli-GPU x ms.
  double surplus = 0;
  // The account's usage, decayed to now, or for kUsageTick to the last tick, in milli-GPU x ms.
  double usage = 0;
  // The submit time of the account's next job. Only kFifo reads this field.
  TimeMs submit_ms = 0;
};

// The sort key of a sibling. The smaller key comes first: by band, then `first`, then `second`,
// then the id. No two siblings have equal keys, because their ids differ.
struct OrderKey {
  // Band 0: the next job is within quota. Band 1: the rule orders the sibling. Band 2: the sibling
  // has shares 0.
  int band = 1;
  // The key of the rule. A smaller number comes earlier.
  double first = 0;
  // The second key of the rule. This key decides between siblings with equal `first`.
  double second = 0;
  AccountId id;
  friend auto operator<=>(const OrderKey&, const OrderKey&) = default;
};

// Fills keys[i] for siblings[i]. `keys` and `siblings` have the same length (asserted). Siblings
// with shares 0 come after all others, ordered by alloc or usage. There are two exceptions: with
// kTargetShare such a sibling still comes first for a job within quota, and kFifo ignores shares.
// Pass the siblings in the order of their ids, because their order changes how sums round. The call
// costs a few ns per sibling and allocates nothing.
void order_keys(OrderPolicy policy, const TargetShareRule& rule, std::span<const Sibling> siblings,
                std::span<OrderKey> keys);

// Returns the target (target_i) of each sibling, as a part of 1. The target of a sibling with
// shares 0 is 0. order_keys() uses these targets, and explanations show them.
std::vector<double> targets(const TargetShareRule& rule, std::span<const Sibling> siblings);
// Writes the targets into `out`, which must be as long as `siblings` (asserted).
void fill_targets(const TargetShareRule& rule, std::span<const Sibling> siblings,
                  std::span<double> out);

// Returns the key of a sibling that is not within quota: (alloc + next / 2) / target, in milli-GPU
// per part of 1. `target` is the sibling's target from targets(), and above 0.
double per_target(const Sibling& sibling, double target);

// Computes usage by Slurm's rule, for comparison with Subak's exact usage. Slurm decays and charges
// usage once per period (5 minutes by default). Each tick multiplies all usage by d^period. Then
// the tick charges each running job rate x time x d^time, where `time` is the job's run time since
// the last tick. The factor d is 1 - 0.693/h per second for the half-life h in seconds. The results
// match a real slurmctld (tests/accounting/golden_test.cc).
// Source: the recurrence of Slurm's plugin priority/multifactor (SchedMD, "Multifactor Priority
// Plugin").
class UsageTick {
 public:
  // The half-life is 0 (no decay) or at least a second, and the period is positive (both asserted).
  // With `charge_at_end`, a job is charged at its end for its time since the last tick, as in
  // Slurm. Without `charge_at_end`, that time is never charged.
  UsageTick(DurationMs half_life_ms, DurationMs period_ms, bool charge_at_end, TimeMs start);
  // Starts a job; `rate` is in milli-GPU. Call advance(tree, t) before each event at t, and before
  // you read usage().
  void job_start(AccountId leaf, MilliGpu rate, TimeMs t);
  // Ends a job. Asserts that the job was started.
  void job_end(AccountId leaf, MilliGpu rate, TimeMs started, TimeMs t);
  // Runs every tick that is due by t. O(accounts + running jobs) for each tick.
  void advance(const AccountTree& tree, TimeMs t);
  // Call it after the account was moved from the parent `from`. Its usage moves with it.
  void moved(const AccountTree& tree, AccountId account, AccountId from);
  // Returns the usage at the last tick in milli-GPU x ms; 0 if the account is unknown. With
  // charge_at_end, the usage includes jobs that ended before the last advance(). The usage of an
  // account includes the usage of all accounts below it.
  double usage(AccountId id) const;

 private:
  struct Job {
    MilliGpu rate;
    TimeMs start;
  };
  double decay(DurationMs ms) const;
  double charge(const Job& job, TimeMs t) const;
  void add_to_path(const AccountTree& tree, AccountId leaf, double amount);
  DurationMs period_ms_;
  bool charge_at_end_;
  TimeMs last_, next_;
  double log2_decay_ = 0;  // per ms
  double decay_of_period_ = 0;
  std::vector<double> usage_;                        // by account id
  std::vector<std::vector<Job>> running_;            // by leaf
  std::vector<std::pair<AccountId, double>> ended_;  // charged at the next advance()
};

}  // namespace subak

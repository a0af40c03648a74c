// Who is next among siblings: the order rules as pure functions over one tree node's children. The
// queue walks the tree with them. UsageTick is the only one with a state, owned by the engine.
//
// Each rule takes the sibling with the least key first (docs/design/0005):
//   target-share   within quota first: alloc / quota. Then (alloc + g / 2) / target_i: nearest to
//                  its target with half of its next job, of g GPUs, counted (docs/design/0026)
//                      target_i = s_i x clamp(1 + gain (1 - v_i / (s_i sum v)), lo, hi_i)
//                      hi_i = (1 - lo (1 - s_i)) / s_i
//                  s_i: its part of the siblings' shares; v_i: its surplus. If sum v is 0, target_i
//                  is s_i. Ties: v_i / shares.
//   exact          decayed usage / shares: within one parent that is the order of Slurm's Fair Tree
//                  (SchedMD, "Fair Tree Fairshare Algorithm"), with usage exact at each instant
//   usage-tick     the same with usage as of the last tick (UsageTick)
//   drf            allocation / shares: weighted dominant resource fairness (Ghodsi et al.,
//                  NSDI'11) with GPUs as the only resource
//   fifo           submit time
//
// Threads: none.
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

// Values are durable (policy facts): append only.
enum class OrderPolicy : std::uint8_t {
  kTargetShare,  // the default
  kExact,
  kUsageTick,  // Slurm's rule
  kDrf,        // has no memory
  kFifo,
};
template <>
struct EnumText<OrderPolicy> {
  static constexpr std::array<std::string_view, 5> names{"target-share", "exact", "usage-tick",
                                                         "drf", "fifo"};
};

// Constants of target-share, named so that they can be shown and simulated.
struct TargetShareRule {
  double gain = 32;  // how strongly the target answers to surplus
  double lo = 0.5;   // nobody falls below this part of its share while others catch up
};

// What the rule sees of one child with startable demand.
struct Sibling {
  AccountId id;
  double shares = 0;
  MilliGpu alloc = 0;  // held + running
  MilliGpu next = 0;   // what its next job will take (kTargetShare)
  MilliGpu quota = 0;
  bool within_quota = false;  // its next job would still be within quota, at every level below too
  double surplus = 0;         // surplus + adjustment, decayed to now, in milli-GPU x ms
  double usage = 0;           // decayed to now (kUsageTick: as of the last tick), likewise
  TimeMs submit_ms = 0;       // of its next job (kFifo)
};

// The sort key of each sibling: smaller first; ties by the second key, then id. Total order.
struct OrderKey {
  int band = 1;  // 0: within quota; 1: by the rule; 2: shares 0
  double first = 0;
  double second = 0;
  AccountId id;
  friend auto operator<=>(const OrderKey&, const OrderKey&) = default;
};

// Fills keys[i] for siblings[i]; both are as long (asserted). A sibling with shares 0 comes after
// all others (by alloc, or by usage). Two exceptions: kTargetShare still honours its quota, and
// kFifo looks at no shares. The sums run in the given order: pass siblings in one fixed order, by
// id. Costs a few ns per sibling and allocates nothing.
void order_keys(OrderPolicy policy, const TargetShareRule& rule, std::span<const Sibling> siblings,
                std::span<OrderKey> keys);

// The target_i of each sibling, as a part of 1, as order_keys() uses it; 0 for shares 0. For
// explanations.
std::vector<double> targets(const TargetShareRule& rule, std::span<const Sibling> siblings);
// The same into `out`, as long as `siblings` (asserted).
void fill_targets(const TargetShareRule& rule, std::span<const Sibling> siblings,
                  std::span<double> out);

// The key of a sibling that is not within quota: (alloc + next / 2) / target, in milli-GPU per part
// of 1. `target` as of targets(), above 0.
double per_target(const Sibling& sibling, double target);

// Slurm's usage as a baseline: decayed and charged once per period (5 minutes by default), by the
// recurrence of its plugin priority/multifactor (SchedMD, "Multifactor Priority Plugin"). Each tick
// multiplies all usage by d^window, then charges each running job its rate x its time x, times d^x,
// with d = 1 - 0.693/h per second for the half-life h in seconds. Matches what a real slurmctld
// shows (tests/accounting/golden_test.cc).
class UsageTick {
 public:
  // Half-life 0: nothing decays; else at least a second. The period is positive (both asserted).
  // `charge_at_end`: what a job ran since the last tick is charged when it ends, as Slurm does;
  // without it, never.
  UsageTick(DurationMs half_life_ms, DurationMs period_ms, bool charge_at_end, TimeMs start);
  // Call advance(tree, t) before an event at t, and before reading usage(). `rate` in milli-GPU.
  void job_start(AccountId leaf, MilliGpu rate, TimeMs t);
  // Asserts that such a job was started.
  void job_end(AccountId leaf, MilliGpu rate, TimeMs started, TimeMs t);
  // Runs every tick due up to t. O(accounts + running jobs) a tick.
  void advance(const AccountTree& tree, TimeMs t);
  // milli-GPU x ms as of the last tick (plus ends up to the last advance(), if charge_at_end); an
  // account is the sum of all below it. 0 if unknown.
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

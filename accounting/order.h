// Who is next among siblings: the order rules as pure functions over one tree node's children. The
// queue walks the tree with them. Threads: none.
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
  kTargetShare,  // the default: quota first, then alloc / target
  kExact,        // decayed usage / shares alone, down the tree (Fair Tree's order with exact usage)
  kUsageTick,    // Slurm's rule: decayed usage refreshed every 5 minutes (UsageTick)
  kDrf,          // allocation / shares, no memory
  kFifo,         // submit time
};
template <>
struct EnumText<OrderPolicy> {
  static constexpr std::array<std::string_view, 5> names{"target-share", "exact", "usage-tick",
                                                         "drf", "fifo"};
};

// Constants of target-share, named so that they can be shown and simulated.
struct TargetShareRule {
  double gain = 32;  // target_i = s_i * clamp(1 + gain (1 - v_i / (s_i sum v)), lo, hi_i)
  double lo = 0.5;   // nobody falls below this part of its share while others catch up
                     // hi_i = (1 - lo (1 - s_i)) / s_i
};

// What the rule sees of one child with startable demand.
struct Sibling {
  AccountId id;
  double shares = 0;
  MilliGpu alloc = 0;  // held + running
  MilliGpu quota = 0;
  bool within_quota = false;  // its next job would still be within quota, at every level below too
  double surplus = 0;         // surplus + adjustment, decayed to now
  double usage = 0;           // decayed usage to now (or as of the last tick for kUsageTick)
  TimeMs submit_ms = 0;       // of its next job (kFifo)
};

// The sort key of each sibling: smaller first; ties by the second key, then id. Total order.
struct OrderKey {
  int band = 1;  // 0: within quota; 2: shares 0
  double first = 0;
  double second = 0;
  AccountId id;
  friend auto operator<=>(const OrderKey&, const OrderKey&) = default;
};

// Fills keys[i] for siblings[i]. Shares are normalised over these siblings; a sibling with shares 0
// comes after all others (by alloc, or by usage), except that kTargetShare still honours its quota
// and that kFifo looks at no shares. The sums run in the given order: pass siblings in one fixed
// order, by id. Costs a few ns per sibling and allocates nothing. Source: docs/design (the order
// rule), and SchedMD's Fair Tree page for kExact.
void order_keys(OrderPolicy policy, const TargetShareRule& rule, std::span<const Sibling> siblings,
                std::span<OrderKey> keys);

// The target of each sibling (parts of 1; 0 for shares 0), as order_keys uses it; for explanations.
std::vector<double> targets(const TargetShareRule& rule, std::span<const Sibling> siblings);

// Slurm's 5-minute usage as a baseline: `usage_raw` decayed and charged once per period by the
// recurrence of priority/multifactor (decay factor 1 - 0.693/h per second, rectangle rule). Matches
// what a real slurmctld shows (tests/accounting/golden_test.cc). Rates in milli-GPU.
class UsageTick {
 public:
  UsageTick(DurationMs half_life_ms, DurationMs period_ms, bool charge_at_end, TimeMs start);
  TimeMs next_tick_ms() const { return next_; }
  // Call advance(tree, t) before an event at t, and before reading usage().
  void job_start(AccountId leaf, MilliGpu rate, TimeMs t);
  // Asserts that such a job was started.
  void job_end(AccountId leaf, MilliGpu rate, TimeMs started, TimeMs t);
  // Runs every tick due up to t.
  void advance(const AccountTree& tree, TimeMs t);
  // milli-GPU x ms as of the last tick (plus ends up to the last advance(), if charge_at_end); an
  // account is the sum of all below it.
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

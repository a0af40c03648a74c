// One account of the account tree: its settings (the spec), the GPUs that its jobs hold, its
// meters, and its parent and children. AccountTree (accounting/tree.h) owns one AccountNode for
// each account and user. A job holds GPUs from the moment at which Subak gives them to its pods
// until the pods have ended. A meter sums GPU time that decays with a half-life
// (accounting/decay.h).
//
// Units: amounts in milli-GPU, decayed usage and surplus in milli-GPU x ms, times in ms.
// Errors: none; broken preconditions end the process.
// Threads: one at a time; the account tree owns all these objects.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "accounting/amounts.h"
#include "accounting/budget/budget_book.h"
#include "accounting/decay.h"
#include "accounting/limits/job_limits.h"
#include "core/error.h"
#include "core/ids.h"
#include "core/must.h"
#include "core/quantity.h"
#include "core/text.h"

namespace subak {

inline constexpr AccountId kRootAccount{1};
// kPlatform and kUnassigned stand for holders and payers of ledger rows that are not accounts of
// the tree. kPlatform pays for holds that are released before a pod is bound, for lost nodes and
// similar losses. kUnassigned stands for the account of a job whose namespace has no account.
inline constexpr AccountId kPlatform{0xffff'fffe};
inline constexpr AccountId kUnassigned{0xffff'fffd};

// Says whether jobs end at their time limit. Facts (the engine's durable records) store these
// values: only append new ones.
enum class TimeLimits : std::uint8_t {
  // The account above decides whether time limits are enforced. At the root, the policy decides.
  kInherit,
  // Jobs may run on after their time limit. The limit only says when the job's GPUs become free.
  kAdvised,
  // Subak asks a job to end after its time limit plus the policy's grace.
  kEnforced,
};
template <>
struct EnumText<TimeLimits> {
  static constexpr std::array<std::string_view, 3> names{"inherit", "advised", "enforced"};
};

// The settings of one account. A user is an account too: a leaf with the path "<account>/<user>",
// which Subak makes on first use.
struct AccountSpec {
  // "ml.vision", or "ml.vision/ana" for a user. Empty: the root.
  std::string path;
  // True: this account is a user below an account, and has no accounts below it.
  bool user = false;
  // The account's weight among its siblings. 0: the account's jobs start only when no other job
  // wants the GPUs.
  std::int64_t shares = 1;
  // The account's guaranteed GPUs. If empty, the quota of a user or of an account without children
  // is 0. The quota of any other account is then the sum of its children's quotas.
  ProductAmounts quota;
  // The most GPUs that the account may have at once. Empty: the account has no limit.
  ProductAmounts limit;
  // The most GPUs that the account may have above its quota: "8" or "gpu=8" of all products
  // together, "H100=2" of one product, or several of these in a list. "none" is "gpu=0". An empty
  // text means unlimited. So the allocation may be at most quota + borrow.
  std::string borrow;
  // The most GPUs of the account's unused quota that other accounts may use. The text has the form
  // of `borrow`, and its amounts are at most the quota. An empty text means unlimited
  // (accounting/unlent_quota.h).
  std::string lend;
  // The account's namespaces, sorted: "ns" in every cluster, or "cluster/ns". The account of a user
  // has no namespaces.
  std::vector<std::string> namespaces;
  // Account hold: no job of the account starts.
  bool held = false;
  // Account drain: running jobs run to their end, and no new job is accepted.
  bool draining = false;
  // Whether jobs of the account end at their time limit.
  TimeLimits time_limits = TimeLimits::kInherit;
  // Limits on the account's jobs, and limits for each of its users, as lists
  // (accounting/limits/job_limits.h). An empty text has no limits. A user is each user account at
  // or below the account, counted by itself.
  std::string job_limits, user_limits;
  // GPU time that the account may spend in each period, as a list (accounting/budget/budget.h). An
  // empty text has no budgets.
  std::string budgets;
  // How long a job of the account is planned to run if it has no time limit. 0: the account above
  // decides, and above the root the policy.
  DurationMs default_time_limit_ms = 0;
  // The caller that manages the account and all accounts below it that have no mark of their own.
  // Edits by other callers need an override (accounting/edit/managed_by.h). Empty: the account
  // above decides.
  std::string managed_by;

  template <class V>
  void fields(V& v) {
    v(1, "path", path);
    v(2, "user", user);
    v(3, "shares", shares);
    v(4, "quota", quota);
    v(5, "limit", limit);
    v(6, "borrow", borrow);
    v(7, "lend", lend);
    v(8, "namespaces", namespaces);
    v(9, "held", held);
    v(10, "draining", draining);
    v(11, "time_limits", time_limits);
    v(12, "job_limits", job_limits);
    v(13, "user_limits", user_limits);
    v(14, "budgets", budgets);
    v(15, "default_time_limit_ms", default_time_limit_ms);
    v(16, "managed_by", managed_by);
  }
  friend bool operator==(const AccountSpec&, const AccountSpec&) = default;
};

// The parsed text of `borrow` or `lend` of a spec.
struct BorrowBound {
  // The bound on the GPUs of all products together. nullopt: unlimited.
  std::optional<MilliGpu> total;
  // The bounds on single products, sorted by product. A product that is not in the list has no
  // bound of its own.
  ProductAmounts by_product;
};
// The entries for single products in the texts of a spec, with product ids instead of names. The
// caller makes it, because the tree does not know the ids. BorrowBound::by_product has the names.
struct BorrowAmounts {
  std::vector<std::pair<ProductId, MilliGpu>> borrow, lend;
  // The GPUs in `user_limits`.
  std::vector<std::pair<ProductId, MilliGpu>> user_gpus = {};
  // The product of each budget, in the order of parse_budgets(); kOfAny: all products.
  std::vector<ProductId> budgets = {};
};
// The parsed `job_limits`, `user_limits` and `budgets` of a spec.
struct ExtraLimits {
  JobLimits jobs;
  // For each user: the most GPUs by product id, where id 0 stands for any product, and the limits
  // on jobs.
  std::vector<std::pair<ProductId, MilliGpu>> user_gpus;
  JobLimits user_jobs;
  // The budgets, each with the id of its product.
  struct OfProduct {
    Budget budget;
    ProductId product;
  };
  std::vector<OfProduct> budgets;
};
// Returns the parsed limits and budgets of a valid spec (asserted). nullptr: it has none.
// `by_product` has the GPUs of `user_limits` and the products of `budgets`. A budget without an
// element in `by_product.budgets` counts all products.
std::shared_ptr<const ExtraLimits> extra_limits_of(const AccountSpec& spec,
                                                   const BorrowAmounts& by_product);
// Parses the `borrow` or `lend` of a spec. If the text is no list of amounts, the error is kInvalid
// and names `field`.
Result<BorrowBound> parse_borrow(std::string_view text, std::string_view field);
// Returns the text of a spec for this bound. parse_borrow() reads this text.
std::string borrow_text(const BorrowBound& bound);

// The GPUs that an account holds: the amounts by product, and their sums. No amount is ever
// negative.
class Holdings {
 public:
  // GPUs on hold for pods that are not bound yet.
  MilliGpu held() const { return held_; }
  // GPUs of pods that are bound to nodes.
  MilliGpu running() const { return running_; }
  // The sum of held() and running(): the allocation of the account.
  MilliGpu total() const { return held_ + running_; }
  // The amounts by product. A product stays in the list when its amounts are 0.
  std::span<const ProductLevel> levels() const { return levels_; }
  // Adds `held` and `running` to the amounts of one product. Negative numbers subtract. No amount
  // may fall below 0 (asserted).
  void change(ProductId product, MilliGpu held, MilliGpu running);

 private:
  ProductLevel& level_of(ProductId product);
  ProductLevel& add_level(ProductId product);
  MilliGpu held_ = 0, running_ = 0;  // sums of levels_
  std::vector<ProductLevel> levels_;
};

// The GPU time that an account has used so far.
//
// usage       the GPU time that the account's jobs held, once decayed and once exact without decay.
// surplus     the part of usage that the account's quota does not cover, decayed.
// adjustment  the amount that edits of shares add to the surplus. The adjustment decays too.
//
// The tree reports each change of the account's holds to this object. No read may ask for a time
// before the last change. All calls on one object must pass the same clock.
class AccountMeters {
 public:
  // Adds `delta` to the rate of usage: the milli-GPU that the account holds. The time `at` may be
  // before the last change, because an end can be reported late. Usage is exact even then.
  void change_usage(const DecayClock& clock, MilliGpu delta, const DecayInstant& at);
  // Sets the rate of the surplus: from `at` on, or from the last change if that is later.
  void set_surplus_rate(const DecayClock& clock, MilliGpu rate, const DecayInstant& at);
  // Adds `amount` to the adjustment, in milli-GPU x ms. `amount` may be negative.
  void adjust(const DecayClock& clock, double amount, TimeMs t) {
    adjustment_.add(clock, amount, t);
  }
  // Starts the decayed meters again from zero, with a clock that has another half-life. The rate of
  // usage stays, and the surplus gets the rate `surplus_rate`. Undecayed usage stays.
  void restart(const DecayClock& clock, MilliGpu surplus_rate, const DecayInstant& at);
  // Sets all decayed meters to zero. The account must hold nothing.
  void forget_decayed();
  // Returns meters with the present rates and undecayed usage, whose decayed values are 0 at `at`.
  // `clock` may have another half-life than the clock of these meters.
  AccountMeters begun(const DecayClock& clock, const DecayInstant& at) const;
  // Adds amounts that decay from `t` on to the three decayed meters, in milli-GPU x ms.
  void add(const DecayClock& clock, double usage, double surplus, double adjustment, TimeMs t);
  // Adds the usage of another account, with its rate, or subtracts it (`sign` -1). Usage without
  // decay stays exact. Afterwards the surplus has the rate `surplus_rate`, and `surplus` milli-GPU
  // x ms more than before.
  struct Moved {
    int sign = 1;
    double surplus = 0;
    MilliGpu surplus_rate = 0;
  };
  void add(const DecayClock& clock, const AccountMeters& other, const Moved& moved,
           const DecayInstant& at);

  // Returns the GPUs that the account holds now.
  MilliGpu usage_rate() const { return usage_.rate(); }
  // Returns the part of the account's held GPUs that the account's quota does not cover.
  MilliGpu surplus_rate() const { return surplus_.rate(); }
  // True if the adjustment has not decayed to zero.
  bool adjusted() const { return !adjustment_.idle(); }
  // Returns decayed usage, in milli-GPU x ms.
  double usage(const DecayClock& clock, const DecayInstant& at) const {
    return usage_.value(clock, at);
  }
  // Returns usage without decay, exactly.
  GpuTime usage_undecayed(TimeMs t) const {
    return usage_total_ + GpuTime::of(usage_.rate(), t - usage_as_of_);
  }
  // Returns the decayed surplus without the adjustment, in milli-GPU x ms.
  double surplus(const DecayClock& clock, const DecayInstant& at) const {
    return surplus_.value(clock, at);
  }
  // Returns the adjustment, in milli-GPU x ms. It may be negative.
  double adjustment(const DecayClock& clock, const DecayInstant& at) const {
    return adjustment_.value(clock, at);
  }
  // Returns surplus plus adjustment, at least 0. This number orders siblings.
  double sort_surplus(const DecayClock& clock, const DecayInstant& at) const;
  // Returns how sort_surplus() changes with time if the account's holds do not change. The result
  // is valid for instants with this DecayInstant::half_lives. The half-life must be finite.
  DecayedMeter::Course sort_surplus_course(const DecayClock& clock, std::int64_t half_lives) const;
  // These functions prefetch the memory that sort_surplus() and change_usage() read.
  void prefetch_surplus() const {
    __builtin_prefetch(&surplus_);
    __builtin_prefetch(&adjustment_);
  }
  void prefetch_usage() const { __builtin_prefetch(&usage_); }

  // The exact state of the meters, for checkpoints: restore(state()) changes no bit.
  struct State {
    DecayedMeter::State usage, surplus, adjustment;
    // Usage without decay up to the time `usage_as_of`.
    GpuTime usage_total;
    TimeMs usage_as_of = 0;
    friend bool operator==(const State&, const State&) = default;
  };
  State state() const;
  void restore(const State& state);

 private:
  DecayedMeter surplus_, adjustment_;  // first, because a pass reads them for every sibling
  DecayedMeter usage_;
  GpuTime usage_total_;  // undecayed, up to usage_as_of_: the last change
  TimeMs usage_as_of_ = 0;
};

// The functions of Holdings below are inline, because each start and end of a job calls them for
// every account on its path.
inline ProductLevel& Holdings::level_of(ProductId product) {
  for (ProductLevel& level : levels_) {
    if (level.product == product) return level;
  }
  return add_level(product);
}

inline void Holdings::change(ProductId product, MilliGpu held, MilliGpu running) {
  ProductLevel& level = level_of(product);
  level.held += held;
  level.running += running;
  held_ += held;
  running_ += running;
  must(level.held >= 0 && level.running >= 0, "nothing ends that did not begin");
  must(held_ >= level.held && running_ >= level.running, "a sum has each of its parts");
}

inline void AccountMeters::change_usage(const DecayClock& clock, MilliGpu delta,
                                        const DecayInstant& at) {
  const MilliGpu before = usage_.rate();
  usage_.change_rate(clock, delta, at);
  if (at.t >= usage_as_of_) {
    usage_total_ += GpuTime::of(before, at.t - usage_as_of_);
    usage_as_of_ = at.t;
  } else {
    usage_total_ += GpuTime::of(delta, usage_as_of_ - at.t);
  }
  must(usage_.rate() >= 0, "usage has no negative rate");
}

inline void AccountMeters::set_surplus_rate(const DecayClock& clock, MilliGpu rate,
                                            const DecayInstant& at) {
  must(rate >= 0 && rate <= usage_.rate(), "a surplus is a part of the usage");
  if (at.t > usage_as_of_) {
    usage_total_ += GpuTime::of(usage_.rate(), at.t - usage_as_of_);
    usage_as_of_ = at.t;
  }
  const MilliGpu delta = rate - surplus_.rate();
  if (delta == 0) return;
  const bool late = at.t < usage_as_of_;
  surplus_.change_rate(clock, delta, late ? clock.at(usage_as_of_) : at);
  must(surplus_.rate() == rate, "the surplus has the rate that was set");
}

// The parsed `borrow` and `lend` of a spec, for all products together. nullopt: unlimited.
struct Lending {
  std::optional<MilliGpu> borrow, lend;
  // The bounds on single products, sorted by product. A product that is not in the list has no
  // bound of its own.
  std::vector<std::pair<ProductId, MilliGpu>> borrow_of, lend_of;
  // Returns the most unused GPUs of a product that the account lends to others. kOfAny stands for
  // all products together. nullopt: unlimited.
  std::optional<MilliGpu> most_lent(ProductId product) const;
};

// The limits of a spec, parsed once for each edit.
struct AccountLimits {
  // The most GPUs at once by product id; id 0 stands for any product.
  std::vector<std::pair<ProductId, MilliGpu>> gpus;
  // The limits besides `gpus`, and the budgets. nullptr: the account has none.
  std::shared_ptr<const ExtraLimits> extra;
};

// One move of an account to another parent.
struct PastMove {
  TimeMs at_ms = 0;
  // The parent before the move.
  AccountId from;
  template <class V>
  void fields(V& v) {
    v(1, "at_ms", at_ms);
    v(2, "from", from);
  }
  friend bool operator==(const PastMove&, const PastMove&) = default;
};

// The counts of the jobs at or below an account, besides their GPUs: for limits on jobs, claims and
// budgets.
struct JobCounts {
  // The sums of all jobs that hold GPUs or have a claim.
  JobSums sums;
  // The GPUs that claims set aside, by product; each amount is above 0. A claim takes GPUs back
  // from other jobs for a waiting job. These GPUs are a part of the account's holdings, and count
  // for every rule and for the order of the queue. They add nothing to the account's usage.
  std::vector<std::pair<ProductId, MilliGpu>> claimed;
  // The number of jobs in `sums` that count because of their claims.
  std::int64_t claiming = 0;
  // The books of the account's budgets, in the order of ExtraLimits::budgets.
  std::vector<BudgetBook> budgets;
  // The last moves of the account, at most AccountMove::kMostKept, oldest first. The books above
  // the account count its GPU time only from the last move on.
  std::vector<PastMove> moves;
};

// One account of the tree, with its state. The tree has its accounts in a dense vector, by id.
// Children are ordered by id. Any account may have jobs, even an account that has users. The fields
// that a pass reads of every sibling come first, in a cache line of their own. The meters follow,
// each in its own cache line.
struct alignas(64) AccountNode {
  // The account's index in the tree's vector, from 1.
  AccountId id;
  // The account above this one. None: this account is the root.
  AccountId parent;
  // Rises when a meter of the account changes, or when the allocation at or below the account
  // changes.
  std::uint32_t changes = 0;
  // The number of accounts above this account: 0 for the root.
  std::uint32_t depth = 0;
  // The GPUs that jobs of this account and of all accounts below it hold.
  Holdings holdings;
  // The sum of `quota`.
  MilliGpu quota_total = 0;
  // The account's usage, surplus and adjustment. The meters stay when the account is removed.
  alignas(64) AccountMeters meters;
  // Quota by product id; id 0 stands for any product. `quota` is the effective quota: the account's
  // own quota, or else the sum of its children's quotas.
  std::vector<std::pair<ProductId, MilliGpu>> quota;
  AccountLimits limits;
  JobCounts jobs;
  // `borrow` and `lend` of the spec, parsed once for each edit.
  Lending lending;
  // The live children, by id.
  std::vector<AccountId> children;
  // The spec that was set last. A removed account still has its last spec.
  AccountSpec spec;
  // The number of edits of this account.
  std::int64_t revision = 0;
  // The number of live accounts at or below this account.
  std::uint32_t below = 0;
  // True: the account was removed. A removed account stays in the vector because the ledger needs
  // it. None of its jobs start.
  bool removed = false;
  // The GPUs, on hold and running, of all accounts at or below this one.
  MilliGpu alloc() const { return holdings.total(); }
};

}  // namespace subak

// The figures of one budget of an account: the GPU time that it has spent in the present period,
// and the GPU time that its running jobs may still spend.
//
//   spent   GPU time that jobs at or below the account held since the period began, without time
//           that the platform pays
//   held    GPU time from now to the planned ends of these jobs, as far as it is in the period
//   left    granted - spent - held. It is negative if the budget is overdrawn
//
// Example: 100 GPU-hours are granted. A job on 2 GPUs has run for 10 hours, and ends in 5 hours:
// spent 20, held 10, left 70. The figures are exact integers and never decay. `spent` grows at a
// rate, which changes only when a job starts or ends.
//
// Units: milli-GPU, ms, milli-GPU x ms.
// Errors: none; broken preconditions are asserted.
// Threads: one at a time; the account tree owns the books.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "accounting/budget/budget.h"
#include "accounting/budget/calendar.h"
#include "core/ids.h"
#include "core/quantity.h"

namespace subak {

// The figures of one budget at one instant.
struct BudgetFigures {
  GpuTime granted, spent, held;
  GpuTime left() const { return granted - spent - held; }
};

// The GPUs that one job holds, as a book counts them.
struct BudgetHold {
  MilliGpu amount = 0;
  // The planned end of the job. 0: no end is known, so the job adds to `spent` but not to `held`.
  TimeMs end_ms = 0;
};

// The first period in which the budget has too little left for a demand.
struct BudgetLack {
  PeriodSpan span;
  // The part of the demand that is in the period.
  GpuTime need;
  // The GPU time that the budget has left in the period; negative if the budget is overdrawn.
  GpuTime left;
  // When the period would have room for the demand if no other job starts or ends. kEndless: never.
  TimeMs allows_at = kEndless;
};

// The book of one budget of one account.
class BudgetBook {
 public:
  // A book begins with nothing spent. `product` is the id of the budget's product; none: the budget
  // counts all products. Periods follow `calendar`; nullptr: they are in UTC.
  BudgetBook(Budget budget, ProductId product, TimeMs now, BudgetCalendarPtr calendar = nullptr);

  // --- reads -------------------------------------------------------------------------------------
  const Budget& budget() const { return budget_; }
  ProductId product() const { return product_; }
  // True if the budget counts GPUs of this product.
  bool counts(ProductId product) const;
  // The present period.
  const PeriodSpan& span() const { return span_; }
  // Returns the period after the present one or after a later one.
  PeriodSpan after(const PeriodSpan& span) const {
    return period_after(calendar_.get(), budget_.period, span.to_ms);
  }
  // Returns the period that contains `now`, for roll(). The present period must be over (asserted).
  PeriodSpan turned(TimeMs now) const;
  // The planned end that running jobs without a time limit get: the end of the present period, or
  // of the next one if the present one is almost over. kEndless: the period never ends.
  TimeMs until_ms() const { return until_ms_; }
  // Returns the figures at `t`, which must not be before the last change.
  BudgetFigures at(TimeMs t) const { return {budget_.granted, spent(t), held(t)}; }
  // Returns the part of the budget in percent that was recorded as spent in the present period: 80,
  // 100, or 0 before that.
  std::uint32_t reached() const { return reached_; }
  // Returns the part of the budget that is spent at `t`: 80, 100, or 0 for less.
  std::uint32_t spent_percent(TimeMs t) const;
  // Returns when spending passes the next mark after reached() (80 or 100 percent) at the present
  // rate. kEndless: never.
  TimeMs next_percent_at() const;
  // Returns the GPU time that running jobs hold in a later period.
  GpuTime held_in(const PeriodSpan& later) const;
  // Returns the first period in which the budget has no room for `amount` milli-GPU during `when`.
  // `when` does not begin before `now`. nullopt: each period has room. A demand until kEndless has
  // no end. O(periods + running jobs that end after the present period).
  std::optional<BudgetLack> lack(MilliGpu amount, const PeriodSpan& when, TimeMs now) const;

  // --- changes -----------------------------------------------------------------------------------
  // Call take() if a job begins to hold GPUs at the time `at`, and give() if it stops holding them.
  // An end can be reported late, so `at` may be before the last change. The book then subtracts the
  // GPU time after `at`.
  void take(const BudgetHold& hold, TimeMs at);
  void give(const BudgetHold& hold, TimeMs at);
  // The planned end of a hold changes.
  void move_end(const BudgetHold& before, TimeMs end_ms);
  // Adds GPU time to `spent` without a hold. Call it for a budget above the former place of a moved
  // account, if a start or end of a job before the move is reported only now. A negative amount is
  // subtracted.
  void spend(MilliGpu amount, DurationMs ms) { base_ += GpuTime::of(amount, ms); }
  // Subtracts GPU time from `spent`, because another account or the platform pays for it. The book
  // never counted time before its own beginning, so it subtracts none of that time.
  void refund(MilliGpu amount, const PeriodSpan& when);
  // Sets the calendar of later periods. The present period ends as before.
  void set_calendar(BudgetCalendarPtr calendar) { calendar_ = std::move(calendar); }
  // Sets the amount that each period grants. If the amount changes, reached() becomes 0.
  void grant(GpuTime granted);
  void set_reached(std::uint32_t percent) { reached_ = percent; }
  // Begins the period `next`, which must not begin before the present one ends (asserted), with
  // nothing spent. The holds of running jobs stay.
  void roll(const PeriodSpan& next);
  void set_until(TimeMs until_ms) { until_ms_ = until_ms; }

  // The stored form. restore() needs a book that already has the holds of all jobs.
  struct State {
    PeriodSpan span;
    TimeMs until_ms = 0;
    // The GPU time spent minus the rate times the time.
    GpuTime base;
    // When the account got the budget. 0: not known.
    TimeMs since_ms = 0;
    // The result of reached().
    std::uint32_t reached = 0;
    friend bool operator==(const State&, const State&) = default;
  };
  State state() const { return {span_, until_ms_, base_, since_ms_, reached_}; }
  void restore(const State& state);
  // The milli-GPU that jobs hold now: the rate at which `spent` grows.
  MilliGpu rate() const { return rate_; }
  // The holds of running jobs: the sum of their milli-GPU by planned end.
  const std::map<TimeMs, MilliGpu>& ends() const { return ends_; }

 private:
  GpuTime spent(TimeMs t) const { return base_ + GpuTime::of(rate_, t); }
  GpuTime held(TimeMs t) const { return in_span_ends_ - GpuTime::of(in_span_rate_, t); }
  void add_end(const BudgetHold& hold, MilliGpu sign);
  // Computes in_span_rate_ and in_span_ends_ again.
  void count_span();

  Budget budget_;
  ProductId product_;
  PeriodSpan span_;
  TimeMs until_ms_;
  TimeMs since_ms_;
  std::uint32_t reached_ = 0;
  BudgetCalendarPtr calendar_;
  GpuTime base_;
  MilliGpu rate_ = 0;
  std::map<TimeMs, MilliGpu> ends_;
  // The sums over the holds that end after span_.from_ms: milli-GPU, and milli-GPU x min(end,
  // span_.to_ms).
  MilliGpu in_span_rate_ = 0;
  GpuTime in_span_ends_;
};

// Returns when all of the budget is spent at the present rate. kEndless: never.
TimeMs spent_by(const BudgetBook& book, TimeMs now);

}  // namespace subak

#include "accounting/budget/budget_book.h"

#include <algorithm>
#include <utility>

#include "core/account_limits.h"
#include "core/must.h"

namespace subak {

BudgetBook::BudgetBook(Budget budget, ProductId product, TimeMs now, BudgetCalendarPtr calendar)
    : budget_(std::move(budget)),
      product_(product),
      span_(period_in(calendar.get(), budget_.period, now)),
      until_ms_(span_.to_ms),
      since_ms_(now),
      calendar_(std::move(calendar)) {}

PeriodSpan BudgetBook::turned(TimeMs now) const {
  must(now >= span_.to_ms, "the present period is over");
  const PeriodSpan next = after(span_);
  return now < next.to_ms ? next : period_in(calendar_.get(), budget_.period, now);
}

bool BudgetBook::counts(ProductId product) const { return !product_ || product_ == product; }

GpuTime BudgetBook::held_in(const PeriodSpan& later) const {
  must(later.from_ms >= span_.to_ms, "the present period has its own sums");
  GpuTime held;
  for (auto end = ends_.upper_bound(later.from_ms); end != ends_.end(); ++end) {
    held += GpuTime::of(end->second, std::min(end->first, later.to_ms) - later.from_ms);
  }
  return held;
}

std::optional<BudgetLack> BudgetBook::lack(MilliGpu amount, const PeriodSpan& when,
                                           TimeMs now) const {
  must(when.from_ms >= now, "a demand begins now or later");
  if (amount == 0) return std::nullopt;
  PeriodSpan span = span_;
  for (int periods = 0; when.to_ms > span.from_ms; ++periods) {
    const TimeMs from = std::max(when.from_ms, span.from_ms);
    const TimeMs to = std::min(when.to_ms, span.to_ms);
    const GpuTime left = span == span_ ? at(now).left() : budget_.granted - held_in(span);
    const GpuTime need = GpuTime::of(amount, std::max<DurationMs>(0, to - from));
    const bool is_lack = need > GpuTime() && need > left;
    if (is_lack || periods == limits::kMaxBudgetPeriods) {
      BudgetLack lack{span, need, left};
      if (span.to_ms < kEndless && periods < limits::kMaxBudgetPeriods) {
        const auto fits_ms =
            static_cast<DurationMs>(std::max<GpuTime::Raw>(0, left.raw()) / amount);
        lack.allows_at = std::max(now + 1, span.to_ms - fits_ms);
      }
      return lack;
    }
    if (span.to_ms >= kEndless) break;
    span = after(span);
  }
  return std::nullopt;
}

void BudgetBook::add_end(const BudgetHold& hold, MilliGpu sign) {
  if (hold.end_ms == 0 || hold.end_ms >= kEndless) return;
  const MilliGpu amount = sign * hold.amount;
  MilliGpu& at_end = ends_[hold.end_ms];
  at_end += amount;
  must(at_end >= 0, "a hold ends that began");
  if (at_end == 0) ends_.erase(hold.end_ms);
  if (hold.end_ms <= span_.from_ms) return;
  in_span_rate_ += amount;
  in_span_ends_ += GpuTime::of(amount, std::min(hold.end_ms, span_.to_ms));
}

void BudgetBook::take(const BudgetHold& hold, TimeMs at) {
  must(hold.amount > 0, "a job takes some GPUs");
  rate_ += hold.amount;
  base_ -= GpuTime::of(hold.amount, at);
  add_end(hold, 1);
}

void BudgetBook::give(const BudgetHold& hold, TimeMs at) {
  must(hold.amount > 0 && rate_ >= hold.amount, "GPUs that a job releases were taken");
  rate_ -= hold.amount;
  base_ += GpuTime::of(hold.amount, at);
  add_end(hold, -1);
}

void BudgetBook::move_end(const BudgetHold& before, TimeMs end_ms) {
  add_end(before, -1);
  add_end({before.amount, end_ms}, 1);
}

void BudgetBook::grant(GpuTime granted) {
  if (granted != budget_.granted) reached_ = 0;
  budget_.granted = granted;
}

std::uint32_t BudgetBook::spent_percent(TimeMs t) const {
  const GpuTime::Raw parts = spent(t).raw() * 100;
  for (const std::uint32_t percent : {100U, 80U}) {
    if (parts >= budget_.granted.raw() * percent) return percent;
  }
  return 0;
}

TimeMs BudgetBook::next_percent_at() const {
  if (reached_ >= 100) return kEndless;
  const std::uint32_t percent = reached_ < 80 ? 80 : 100;
  const GpuTime::Raw need = (budget_.granted.raw() * percent + 99) / 100 - base_.raw();
  if (rate_ == 0) return need <= 0 ? span_.from_ms : kEndless;
  const GpuTime::Raw at = (need + rate_ - 1) / rate_;
  if (at <= span_.from_ms) return span_.from_ms;
  return at < kEndless ? static_cast<TimeMs>(at) : kEndless;
}

void BudgetBook::refund(MilliGpu amount, const PeriodSpan& when) {
  const TimeMs from = std::max(when.from_ms, since_ms_);
  if (from < when.to_ms) base_ -= GpuTime::of(amount, when.to_ms - from);
}

void BudgetBook::count_span() {
  in_span_rate_ = 0;
  in_span_ends_ = GpuTime();
  for (auto end = ends_.upper_bound(span_.from_ms); end != ends_.end(); ++end) {
    in_span_rate_ += end->second;
    in_span_ends_ += GpuTime::of(end->second, std::min(end->first, span_.to_ms));
  }
}

void BudgetBook::roll(const PeriodSpan& next) {
  must(next.from_ms >= span_.to_ms, "periods follow one another");
  base_ = GpuTime() - GpuTime::of(rate_, next.from_ms);
  span_ = next;
  reached_ = 0;
  until_ms_ = std::max(until_ms_, next.to_ms);
  count_span();
}

void BudgetBook::restore(const State& state) {
  span_ = state.span;
  until_ms_ = state.until_ms;
  since_ms_ = state.since_ms;
  reached_ = state.reached;
  base_ = state.base;
  count_span();
}

TimeMs spent_by(const BudgetBook& book, TimeMs now) {
  const GpuTime rest = book.budget().granted - book.at(now).spent;
  if (rest <= GpuTime()) return now;
  if (book.rate() == 0) return kEndless;
  const GpuTime::Raw ms = rest.raw() / book.rate();
  return ms < kEndless ? now + static_cast<DurationMs>(ms) : kEndless;
}

}  // namespace subak

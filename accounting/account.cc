#include "accounting/account.h"

#include <algorithm>
#include <utility>

#include "core/must.h"

namespace subak {

std::shared_ptr<const ExtraLimits> extra_limits_of(const AccountSpec& spec,
                                                   const BorrowAmounts& by_product) {
  if (spec.job_limits.empty() && spec.user_limits.empty() && spec.budgets.empty()) return nullptr;
  ExtraLimits out{parse_job_limits(spec.job_limits, "job_limits").value(),
                  by_product.user_gpus,
                  parse_user_limits(spec.user_limits, "user_limits").value().jobs,
                  {}};
  std::sort(out.user_gpus.begin(), out.user_gpus.end());
  for (const Budget& budget : budgets_of(spec.budgets)) {
    const std::size_t at = out.budgets.size();
    const bool named = at < by_product.budgets.size();
    out.budgets.push_back({budget, named ? by_product.budgets[at] : kOfAny});
  }
  return std::make_shared<const ExtraLimits>(std::move(out));
}

ProductLevel& Holdings::add_level(ProductId product) {
  const auto place = std::find_if(levels_.begin(), levels_.end(),
                                  [&](const ProductLevel& l) { return product < l.product; });
  must(place == levels_.begin() || place[-1].product < product, "products ascend, each once");
  return *levels_.insert(place, ProductLevel{product, 0, 0});
}

void AccountMeters::restart(const DecayClock& clock, MilliGpu surplus_rate,
                            const DecayInstant& at) {
  *this = begun(clock, at);
  if (surplus_rate != surplus_.rate()) set_surplus_rate(clock, surplus_rate, at);
  must(!adjusted(), "a new half-life keeps the present rate alone");
}

void AccountMeters::forget_decayed() {
  must(usage_.rate() == 0 && surplus_.rate() == 0, "who holds something is metered");
  usage_ = surplus_ = adjustment_ = DecayedMeter();
}

AccountMeters AccountMeters::begun(const DecayClock& clock, const DecayInstant& at) const {
  AccountMeters out = *this;
  out.adjustment_ = DecayedMeter();
  for (DecayedMeter* const meter : {&out.usage_, &out.surplus_}) {
    const DecayedMeter before = std::exchange(*meter, DecayedMeter());
    meter->change_rate(clock, before.rate(), at);
    DecayedMeter::State state = meter->state();
    state.peak_rate = before.state().peak_rate;
    meter->restore(state);
  }
  must(out.usage_.rate() == usage_.rate(), "meters that begin have the present rates");
  return out;
}

void AccountMeters::add(const DecayClock& clock, double usage, double surplus, double adjustment,
                        TimeMs t) {
  if (usage != 0) usage_.add(clock, usage, t);
  if (surplus != 0) surplus_.add(clock, surplus, t);
  if (adjustment != 0) adjustment_.add(clock, adjustment, t);
}

void AccountMeters::add(const DecayClock& clock, const AccountMeters& other, const Moved& moved,
                        const DecayInstant& at) {
  must(at.t >= usage_as_of_, "a move is made now");
  const GpuTime more = other.usage_undecayed(at.t);
  usage_total_ = usage_undecayed(at.t);
  usage_total_ = moved.sign > 0 ? usage_total_ + more : usage_total_ - more;
  usage_as_of_ = at.t;
  usage_.add(other.usage_, moved.sign);
  surplus_.add(clock, moved.surplus, at.t);
  set_surplus_rate(clock, moved.surplus_rate, at);
}

double AccountMeters::sort_surplus(const DecayClock& clock, const DecayInstant& at) const {
  const double surplus = surplus_.value(clock, at);
  return std::max(0.0, adjustment_.idle() ? surplus : surplus + adjustment_.value(clock, at));
}

DecayedMeter::Course AccountMeters::sort_surplus_course(const DecayClock& clock,
                                                        std::int64_t half_lives) const {
  const DecayedMeter::Course surplus = surplus_.course(clock, half_lives);
  if (adjustment_.idle()) return surplus;
  const DecayedMeter::Course adjusted = adjustment_.course(clock, half_lives);
  return {surplus.decaying + adjusted.decaying, surplus.lasting + adjusted.lasting};
}

AccountMeters::State AccountMeters::state() const {
  return {usage_.state(), surplus_.state(), adjustment_.state(), usage_total_, usage_as_of_};
}

void AccountMeters::restore(const State& state) {
  must(state.adjustment.rate == 0, "an adjustment is an amount, without a rate");
  usage_.restore(state.usage);
  surplus_.restore(state.surplus);
  adjustment_.restore(state.adjustment);
  usage_total_ = state.usage_total;
  usage_as_of_ = state.usage_as_of;
}

}  // namespace subak

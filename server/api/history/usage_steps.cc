#include "server/api/history/usage_steps.h"

#include <algorithm>
#include <utility>

#include "accounting/account.h"

namespace subak::api {

UsageSteps::UsageSteps(TimeMs from_ms, TimeMs to_ms, DurationMs step_ms,
                       std::vector<AccountId> payers)
    : from_ms_(from_ms),
      to_ms_(to_ms),
      step_ms_(step_ms),
      payers_(std::move(payers)),
      sums_(step_of(to_ms - 1) + 1) {}

TimeMs UsageSteps::to_ms(std::size_t i) const { return std::min(from_ms(i + 1), to_ms_); }

bool UsageSteps::is_payer(AccountId id) const {
  return payers_.empty() || std::binary_search(payers_.begin(), payers_.end(), id);
}

void UsageSteps::add(const LedgerRow& row) {
  const bool by_platform = row.payer == kPlatform;
  if (!is_payer(by_platform ? row.holder : row.payer)) return;
  GpuTime Sums::*const sum = by_platform                      ? &Sums::platform
                             : row.state == UsageState::kHeld ? &Sums::held
                                                              : &Sums::used;
  if (row.booked_ms == 0) return divide(sum, row.milligpu, row.from_ms, row.to_ms);
  const TimeMs at = row.counts_from();
  if (at >= from_ms_ && at < to_ms_) sums_[step_of(at)].*sum += row.amount();
}

void UsageSteps::add(AccountId payer, UsageState state, MilliGpu milligpu, TimeMs from_ms,
                     TimeMs to_ms) {
  if (!is_payer(payer)) return;
  divide(state == UsageState::kHeld ? &Sums::held : &Sums::used, milligpu, from_ms, to_ms);
}

void UsageSteps::divide(GpuTime Sums::*sum, MilliGpu milligpu, TimeMs from_ms, TimeMs to_ms) {
  TimeMs from = std::max(from_ms, from_ms_);
  const TimeMs end = std::min(to_ms, to_ms_);
  while (from < end) {
    const std::size_t i = step_of(from);
    const TimeMs to = std::min(end, this->to_ms(i));
    sums_[i].*sum += GpuTime::of(milligpu, to - from);
    from = to;
  }
}

}  // namespace subak::api

// Adds up the GPU time of ledger rows in steps of equal length, such as hours, for the call
// GetUsageHistory. The sums are exact. Units: milli-GPU x ms. Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "accounting/ledger.h"
#include "core/ids.h"
#include "core/quantity.h"

namespace subak::api {

// The steps [from + i x step, from + (i + 1) x step). The last step ends at `to`.
class UsageSteps {
 public:
  // The usage in one step, as v1::UsageStep.
  struct Sums {
    GpuTime used, held, platform;
  };

  // `to_ms` must be after `from_ms`, and `step_ms` above 0. `payers`: the accounts, sorted; empty:
  // all accounts.
  UsageSteps(TimeMs from_ms, TimeMs to_ms, DurationMs step_ms, std::vector<AccountId> payers);

  // Adds a row of the ledger, divided at the ends of steps. A row that was written after its month
  // was closed (`booked_ms` is set) counts as a whole in the step with that time.
  void add(const LedgerRow& row);
  // Adds usage that has no row yet: `milligpu` of `payer` in [from_ms, to_ms).
  void add(AccountId payer, UsageState state, MilliGpu milligpu, TimeMs from_ms, TimeMs to_ms);

  std::size_t size() const { return sums_.size(); }
  const Sums& operator[](std::size_t i) const { return sums_[i]; }
  TimeMs from_ms(std::size_t i) const { return from_ms_ + static_cast<std::int64_t>(i) * step_ms_; }
  TimeMs to_ms(std::size_t i) const;

 private:
  bool is_payer(AccountId id) const;
  void divide(GpuTime Sums::*sum, MilliGpu milligpu, TimeMs from_ms, TimeMs to_ms);
  std::size_t step_of(TimeMs t) const {
    return static_cast<std::size_t>((t - from_ms_) / step_ms_);
  }

  const TimeMs from_ms_, to_ms_;
  const DurationMs step_ms_;
  const std::vector<AccountId> payers_;
  std::vector<Sums> sums_;
};

}  // namespace subak::api

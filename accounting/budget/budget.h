// The budgets of an account: GPU time that the account may spend in each period. People write them
// as a list. The API and the facts (the engine's durable records) have the same text:
//
//   10000h/month                10,000 GPU-hours of any product in each month
//   H100=2000h/quarter          2,000 GPU-hours of the product H100 in each quarter
//   50000h/total                50,000 GPU-hours in all; total=50000h means the same
//   soft=8000h/month            a soft budget: Subak warns, and stops nothing
//
// Errors: kInvalid with the given `field`.
// Threads: any; pure functions, plain values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "accounting/budget/period.h"
#include "core/error.h"
#include "core/quantity.h"

namespace subak {

// One budget of an account.
struct Budget {
  // True: the budget only causes warnings. False: the budget also stops starts that it does not
  // cover.
  bool soft = false;
  // The GPU product that the budget counts. Empty: all products together.
  std::string product;
  BudgetPeriod period;
  // The GPU time granted in each period; above 0.
  GpuTime granted;

  // True if both budgets count the same GPU time. They may grant different amounts.
  bool same_but_granted(const Budget& other) const {
    return soft == other.soft && product == other.product && period == other.period;
  }
  friend bool operator==(const Budget&, const Budget&) = default;
};

// Reads a list of budgets. The empty text has no budgets. The result is sorted: hard budgets before
// soft budgets, then by product, then by period.
Result<std::vector<Budget>> parse_budgets(std::string_view text, std::string_view field);
// Returns the budgets of a text that parse_budgets() accepts (asserted).
std::vector<Budget> budgets_of(std::string_view text);
// Returns the text that parse_budgets() reads. Equal lists have equal texts.
std::string budgets_text(const std::vector<Budget>& budgets);
// Returns GPU-hours for people and for budgets_text(): "10000h", "0.5h". The function rounds down
// to a thousandth.
std::string gpu_hours_text(GpuTime amount);

// True if no period can hold a demand of `amount` milli-GPU for `planned_ms`, even if nothing else
// is spent and the demand begins at the best time. `planned_ms` 0: the demand has no end. `civil`:
// periods may be of a time zone, and up to kCivilSlackMs shorter than in UTC.
bool never_holds(const Budget& budget, MilliGpu amount, DurationMs planned_ms, bool civil);

}  // namespace subak

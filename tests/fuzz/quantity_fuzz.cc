// Amounts and lists of limits as people and Kubernetes write them. A text that is read, written and
// read again has the same value.
#include <limits>

#include "accounting/budget/budget.h"
#include "accounting/limits/job_limits.h"
#include "core/account_limits.h"
#include "core/decimal.h"
#include "core/duration.h"
#include "core/limits.h"
#include "kube/quantity.h"
#include "tests/fuzz/common/fuzz.h"

namespace {

using namespace subak;

void check_kube(std::string_view text) {
  const auto quantity = parse_kube_quantity(text);
  if (!quantity) return;
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  const auto nano = quantity->nano;
  const auto units = KubeQuantity::Nano{quantity->units()} * KubeQuantity::kNanoPerUnit;
  assert(units >= nano && units - nano < KubeQuantity::kNanoPerUnit);
  const auto milli = KubeQuantity::Nano{quantity->milli()} * 1'000'000;
  assert(quantity->milli() == kMost || (milli >= nano && milli - nano < 1'000'000) ||
         quantity->milli() == -kMost);
  assert(!quantity->is_integer() || units == nano);
  if (text[0] == '+' || text[0] == '-') {  // the sign changes nothing but the sign
    const auto positive = parse_kube_quantity(text.substr(1));
    assert(positive && positive->nano == (text[0] == '-' ? -nano : nano));
  }
  if (nano % KubeQuantity::kNanoPerUnit == 0) {
    const auto plain = parse_kube_quantity(std::to_string(quantity->units()));
    assert(plain && *plain == *quantity);
  }
}

void check_bounds(const JobLimits& limits) {
  assert(!limits.jobs || (*limits.jobs >= 0 && *limits.jobs <= limits::kMaxJobLimit));
  assert(!limits.queued || (*limits.queued >= 0 && *limits.queued <= limits::kMaxJobLimit));
  assert(!limits.time_ms || (*limits.time_ms > 0 && *limits.time_ms <= limits::kMaxTimeLimitMs));
  assert(!limits.gpu_minutes || *limits.gpu_minutes <= limits::kMaxGpuMinutes);
}

void check_limits(std::string_view text) {
  if (const auto limits = parse_job_limits(text, "f"); limits.ok()) {
    check_bounds(*limits);
    const std::string again = job_limits_text(*limits);
    assert(*parse_job_limits(again, "f") == *limits);
    assert(job_limits_text(*parse_job_limits(again, "f")) == again);
  } else {
    fuzz::check_error(limits.error());
  }
  if (const auto limits = parse_user_limits(text, "f"); limits.ok()) {
    check_bounds(limits->jobs);
    const auto read = parse_user_limits(user_limits_text(*limits), "f");
    assert(read.ok() && read->jobs == limits->jobs && read->gpus == limits->gpus);
  } else {
    fuzz::check_error(limits.error());
  }
}

void check_budgets(std::string_view text) {
  const auto budgets = parse_budgets(text, "f");
  if (!budgets.ok()) return fuzz::check_error(budgets.error());
  assert(budgets->size() <= limits::kMaxBudgets);
  const std::string again = budgets_text(*budgets);
  assert(budgets_of(again) == *budgets && budgets_text(budgets_of(again)) == again);
  for (const Budget& budget : *budgets) {
    assert(budget.granted > GpuTime() && shortest_period(budget.period) > 0);
    const PeriodSpan span = period_at(budget.period, 1'795'000'000'000);
    assert(span.from_ms <= 1'795'000'000'000 && span.to_ms > 1'795'000'000'000);
  }
}

void check_core(std::string_view text) {
  if (const auto amount = parse_milligpu(text, "f"); amount.ok()) {
    assert(*amount >= 0 && *amount <= limits::kMaxMilliGpu + kMilliPerGpu - 1);
    assert(*parse_milligpu(format_milligpu(*amount), "f") == *amount);
  } else {
    fuzz::check_error(amount.error());
  }
  if (const auto amounts = parse_amounts(text, "f"); amounts.ok()) {
    assert(*parse_amounts(format_amounts(*amounts), "f") == *amounts);
  } else {
    fuzz::check_error(amounts.error());
  }
  if (const auto duration = parse_duration(text, "f"); duration.ok()) {
    assert(*duration >= 0 && *parse_duration(format_duration(*duration), "f") == *duration);
  } else {
    fuzz::check_error(duration.error());
  }
  if (const auto time = parse_time(text, "f"); time.ok()) {
    const auto again = parse_time(format_time(*time), "f");
    assert(again.ok() && *again == *time);
  } else {
    fuzz::check_error(time.error());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check_kube(fuzz::text_of(data, size));
  check_core(fuzz::text_of(data, size));
  check_limits(fuzz::text_of(data, size));
  check_budgets(fuzz::text_of(data, size));
  return 0;
}

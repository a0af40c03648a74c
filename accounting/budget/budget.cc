#include "accounting/budget/budget.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <tuple>
#include <utility>

#include "accounting/budget/calendar.h"
#include "core/account_limits.h"
#include "core/must.h"

namespace subak {
namespace {

// A thousandth of a GPU-hour.
constexpr DurationMs kThousandthHourMs = kHourMs / 1000;

Error wrong(std::string_view field, std::string_view got, std::string want) {
  return {ErrorCode::kInvalid, std::string(field), std::string(got), std::move(want)};
}

Error wrong_form(std::string_view field, std::string_view got) {
  return wrong(field, got,
               "want a list such as 10000h/month,H100=2000h/quarter,50000h/total,soft=8000h/month");
}

std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool read = ec == std::errc() && end == text.data() + text.size() && !text.empty();
  return read && text.front() != '-' ? std::optional(value) : std::nullopt;
}

// Reads "10000h" or "0.125h" as thousandths of a GPU-hour.
std::optional<std::int64_t> thousandths(std::string_view text) {
  if (!text.ends_with('h')) return std::nullopt;
  text.remove_suffix(1);
  const std::size_t point = text.find('.');
  const auto hours = whole(text.substr(0, point));
  if (!hours || *hours > limits::kMaxBudgetHours) return std::nullopt;
  if (point == std::string_view::npos) return *hours * 1000;
  std::string decimals(text.substr(point + 1));
  if (decimals.empty() || decimals.size() > 3) return std::nullopt;
  decimals.resize(3, '0');
  const auto rest = whole(decimals);
  return rest ? std::optional(*hours * 1000 + *rest) : std::nullopt;
}

// Takes "NAME=" from the front of the item, if the item has it.
bool take_name(std::string_view& item, std::string_view name) {
  if (!item.starts_with(name) || item.substr(name.size(), 1) != "=") return false;
  item.remove_prefix(name.size() + 1);
  return true;
}

Result<Budget> parse_item(const std::string_view all, std::string_view field) {
  std::string_view item = all;
  Budget out;
  out.soft = take_name(item, "soft");
  const bool total = take_name(item, "total");
  if (const std::size_t sign = item.rfind('='); sign != std::string_view::npos) {
    out.product = item.substr(0, sign);
    item.remove_prefix(sign + 1);
    if (out.product.empty() || out.product.find('=') != std::string::npos) {
      return wrong_form(field, all);
    }
    if (out.product == kAnyProduct) out.product.clear();
  }
  const std::size_t slash = item.find('/');
  if (total == (slash != std::string_view::npos)) return wrong_form(field, all);
  const auto amount = thousandths(item.substr(0, slash));
  if (!amount || *amount == 0 || *amount > limits::kMaxBudgetHours * 1000) {
    return wrong(field, all,
                 "want GPU-hours above 0 and at most " + std::to_string(limits::kMaxBudgetHours) +
                     ", such as 10000h or 0.5h, with at most 3 decimals");
  }
  out.granted = GpuTime::of(kMilliPerGpu, *amount * kThousandthHourMs);
  const auto period = parse_period(total ? "total" : item.substr(slash + 1), field);
  if (!period) return wrong(field, all, period.error().want);
  out.period = *period;
  return out;
}

auto key(const Budget& budget) { return std::tie(budget.soft, budget.product, budget.period); }

}  // namespace

Result<std::vector<Budget>> parse_budgets(std::string_view text, std::string_view field) {
  std::vector<Budget> out;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    auto item = parse_item(rest.substr(0, comma), field);
    if (!item) return item.error();
    out.push_back(*std::move(item));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
    if (rest.empty()) return wrong_form(field, text);
  }
  if (out.size() > limits::kMaxBudgets) {
    return wrong(field, text, "want at most " + std::to_string(limits::kMaxBudgets) + " budgets");
  }
  std::sort(out.begin(), out.end(),
            [](const Budget& a, const Budget& b) { return key(a) < key(b); });
  const auto twice = std::adjacent_find(
      out.begin(), out.end(), [](const Budget& a, const Budget& b) { return key(a) == key(b); });
  if (twice != out.end()) {
    return wrong(field, budgets_text({*twice}), "want each product and period once");
  }
  return out;
}

std::vector<Budget> budgets_of(std::string_view text) {
  auto budgets = parse_budgets(text, "budgets");
  must(budgets.ok(), "a text of budgets was checked");
  return *std::move(budgets);
}

std::string gpu_hours_text(GpuTime amount) {
  const GpuTime::Raw unit = GpuTime::of(kMilliPerGpu, kThousandthHourMs).raw();
  const bool negative = amount < GpuTime();
  const auto count = static_cast<std::int64_t>((negative ? -amount.raw() : amount.raw()) / unit);
  std::string out = (negative && count > 0 ? "-" : "") + std::to_string(count / 1000);
  if (const std::int64_t rest = count % 1000; rest > 0) {
    std::string decimals = std::to_string(1000 + rest).substr(1);
    decimals.erase(decimals.find_last_not_of('0') + 1);
    out += "." + decimals;
  }
  return out + "h";
}

std::string budgets_text(const std::vector<Budget>& budgets) {
  std::string out;
  for (const Budget& budget : budgets) {
    if (!out.empty()) out += ',';
    if (budget.soft) out += "soft=";
    if (!budget.product.empty()) out += budget.product + "=";
    out += gpu_hours_text(budget.granted) + "/" + period_text(budget.period);
  }
  return out;
}

bool never_holds(const Budget& budget, MilliGpu amount, DurationMs planned_ms, bool civil) {
  must(amount >= 0 && planned_ms >= 0, "a demand is not negative");
  const bool total = budget.period.kind == PeriodKind::kTotal;
  if (planned_ms == 0) return total && amount > 0;
  DurationMs shortest = shortest_period(budget.period);
  if (civil && !total && shortest >= kDayMs) shortest -= kCivilSlackMs;
  if (planned_ms / shortest >= limits::kMaxBudgetPeriods) return amount > 0;
  // The best start puts half of the demand into each of two periods, or begins before a short one.
  const DurationMs least = total ? planned_ms : std::min((planned_ms + 1) / 2, shortest);
  return GpuTime::of(amount, least) > budget.granted;
}

}  // namespace subak

// The parts that the commands of `subak usage` share. Threads: one at a time.
#pragma once

#include <optional>
#include <string>

#include "cli/commands.h"
#include "cli/text/failure.h"
#include "cli/text/local_time.h"
#include "cli/text/table.h"
#include "cli/text/words.h"
#include "core/duration.h"
#include "server/yaml/price_list.h"
#include "subak/v1/usage_service.pb.h"

namespace subak::cli {

// The account and the period that a command is about, as the command line gives them.
struct UsageWindow {
  std::string account, from, to;
};

// Adds the options --account, --from and --to.
inline void add_window(Command& c, UsageWindow& w) {
  c.option("--account", w.account, "only usage that this account and the accounts below it pay",
           "PATH");
  c.option("--from", w.from,
           "start of the period: a day (from 00:00 UTC), a time, or 7d for seven days ago", "TIME");
  c.option("--to", w.to, "end of the period, written as for --from", "TIME");
}

// Writes the window into a request. Throws Failure if a time cannot be read.
template <class Request>
void put_window(const UsageWindow& w, Request& request) {
  const TimeMs now = now_ms();
  request.set_account(w.account);
  if (!w.from.empty()) *request.mutable_from() = instant_of(w.from, "--from", now);
  if (!w.to.empty()) *request.mutable_to() = instant_of(w.to, "--to", now);
}

// Converts exact amounts from and to messages.
inline GpuTime get(const v1::GpuTime& t) {
  return GpuTime::from_parts(t.gpu_seconds(), t.rest_milligpu_ms());
}
inline v1::GpuTime put(GpuTime t) {
  v1::GpuTime out;
  out.set_gpu_seconds(t.gpu_seconds());
  out.set_rest_milligpu_ms(t.rest());
  return out;
}
inline std::string hours_text(GpuTime time) { return gpu_hours_text(put(time)); }

// Returns a UTC day as text, such as "2026-10-01". `day`: days since 1970-01-01.
inline std::string utc_day(std::int64_t day) { return format_time(day * kDayMs).substr(0, 10); }

// Returns the rows as `subak usage ledger` shows them. `csv`: with the columns of --output csv.
Table ledger_table(const v1::ListLedgerResponse& answer, bool csv);

// Reads a price list. Returns nullopt if `file` is empty. Throws a Failure with the exit code
// kExitUsage if the list is not valid.
std::optional<PriceList> read_prices(const std::string& file);

// Returns the Failure (exit code kExitUsage) for a product without a price on this day. `profile`:
// the MIG profile. It is empty for GPUs that are not cut into slices.
Failure no_price(const std::string& product, const std::string& profile, const std::string& day);

// Adds `subak usage report` (usage_report.cc) and `subak usage statement` (usage_statement.cc).
void add_usage_report(Command usage);
void add_usage_statement(Command usage);
// Adds `subak usage history` (cli/commands/history/usage_history.cc).
void add_usage_history(Command usage);

}  // namespace subak::cli

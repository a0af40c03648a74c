// The parts that the commands of `subak usage` share. Threads: one at a time.
#pragma once

#include <string>

#include "cli/commands.h"
#include "cli/text/local_time.h"
#include "cli/text/words.h"

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

// Adds `subak usage report` (usage_report.cc).
void add_usage_report(Command usage);

}  // namespace subak::cli

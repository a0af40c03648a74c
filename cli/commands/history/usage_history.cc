// subak usage history: what an account used over time, in steps of equal length.
#include <algorithm>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/commands/usage/usage_parts.h"
#include "cli/text/failure.h"
#include "cli/text/words.h"
#include "core/duration.h"
#include "subak/v1/usage_service.pb.h"

namespace subak::cli {
namespace {

struct UsageHistoryCommand {
  UsageWindow window;
  std::string step = "1h";
};

// Returns the average number of GPUs in a step, which is not over at `now`.
std::string average_text(const v1::UsageStep& step, const v1::GpuTime& amount, TimeMs now) {
  const DurationMs ms = std::min(to_ms(step.to()), now) - to_ms(step.from());
  return ms > 0 ? fixed_text(get(amount).gpu_hours() * kHourMs / static_cast<double>(ms), 2) : "-";
}

Table step_table(const v1::GetUsageHistoryResponse& answer) {
  constexpr Align kRight = Align::kRight;
  Table table({time_column("FROM"),
               time_column("TO", Room::kWide),
               {"USED HOURS", kRight},
               {"HELD HOURS", kRight},
               {"PLATFORM", kRight},
               {"QUOTA HOURS", kRight},
               {"AVERAGE GPUS", kRight},
               {"AVERAGE QUOTA", kRight}});
  const TimeMs now = to_ms(answer.time());
  for (const v1::UsageStep& step : answer.steps()) {
    table.row({time_cell(step.from()), time_cell(step.to()), gpu_hours_text(step.used()),
               gpu_hours_text(step.held()), gpu_hours_text(step.platform()),
               gpu_hours_text(step.quota()), average_text(step, step.used(), now),
               average_text(step, step.quota(), now)});
  }
  return table;
}

int show_history(Session& s, const UsageHistoryCommand& o) {
  const DurationMs step = value_or_usage(parse_duration(o.step, "--step"), "write 5m, 1h or 1d");
  v1::GetUsageHistoryRequest request;
  put_window(o.window, request);
  *request.mutable_step() = to_duration(step);
  if (o.window.from.empty() && step > 0) {
    // A day that begins at a whole step.
    const TimeMs to = o.window.to.empty() ? now_ms() : to_ms(request.to());
    const TimeMs from = to - kDayMs;
    *request.mutable_from() = to_timestamp(from - from % step);
  }
  const auto answer = s.call<v1::GetUsageHistoryResponse>("UsageService/GetUsageHistory", request);
  s.show(answer, [&] { return step_table(answer); });
  return 0;
}

}  // namespace

void add_usage_history(Command usage) {
  auto o = std::make_shared<UsageHistoryCommand>();
  Command c =
      usage.add("history", "show GPU-hours and quota of an account over time, step by step");
  add_window(c, o->window);
  c.option("--step", o->step, "length of a step, from 5m on; at most 3,000 steps", "DURATION");
  c.run([o](Session& s) { return show_history(s, *o); });
}

}  // namespace subak::cli

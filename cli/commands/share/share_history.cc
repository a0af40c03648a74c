#include "cli/commands/share/share_history.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "cli/text/failure.h"
#include "cli/text/words.h"
#include "core/duration.h"
#include "server/api/history/history_limits.h"
#include "subak/v1/account_service.pb.h"

namespace subak::cli {
namespace {

constexpr char kStepForms[] = "write 5m, 1h or 1d";

// Returns the ends of the steps, in ms since 1970. The last one is the end of the period.
std::vector<TimeMs> moments_of(const ShareMoments& o, TimeMs now) {
  const DurationMs step =
      o.step.empty() ? kHourMs : value_or_usage(parse_duration(o.step, "--step"), kStepForms);
  if (step < limits::kMinHistoryStepMs) {
    throw usage_failure("--step: was \"" + o.step + "\", want at least 5 minutes", kStepForms);
  }
  const TimeMs to = o.to.empty() ? now : to_ms(instant_of(o.to, "--to", now));
  const TimeMs from = o.from.empty() ? to - kDayMs : to_ms(instant_of(o.from, "--from", now));
  if (from >= to) {
    throw usage_failure("--from: was \"" + o.from + "\", want a time before the end of the period",
                        "write 7d for seven days ago");
  }
  if ((to - from - 1) / step >= limits::kMaxHistorySteps) {
    throw usage_failure("--step: the period has more than 3,000 steps", "use a longer step");
  }
  std::vector<TimeMs> out;
  // Whole steps, such as full hours.
  for (TimeMs at = from - from % step + step; at < to; at += step) out.push_back(at);
  out.push_back(to);
  return out;
}

// Returns the row of the account at this moment. nullopt: the store has no facts of that time, or
// the account did not exist.
std::optional<v1::ListSharesResponse> row_at(Session& s, const std::string& account,
                                             const std::string& moment) {
  v1::ListSharesRequest request;
  request.set_account(account);
  request.set_page_size(1);  // the account comes before those below it
  s.client().go_to(moment);
  try {
    auto answer = s.call<v1::ListSharesResponse>("AccountService/ListShares", request);
    answer.clear_next_page_token();
    if (answer.rows().empty()) return std::nullopt;
    return answer;
  } catch (const Failure& failure) {
    const bool is_early = failure.field == "subak-at" || failure.exit_code == kExitNotFound;
    if (moment.empty() || !is_early) throw;
    return std::nullopt;
  }
}

Table moments_table(const std::vector<v1::ListSharesResponse>& answers) {
  constexpr Align kRight = Align::kRight;
  Table table({time_column("AT"),
               {"SHARE", kRight},
               {"RECENT USE", kRight},
               {"LEVEL FS", kRight},
               {"DECAYED HOURS", kRight, Room::kWide},
               {"RUNNING", kRight},
               {"RESERVED", kRight},
               {"QUEUED", kRight},
               {"QUOTA", kRight},
               {"BORROWED", kRight, Room::kWide},
               {"LENT", kRight, Room::kWide},
               {"QUEUED JOBS", kRight, Room::kWide}});
  for (const v1::ListSharesResponse& answer : answers) {
    const v1::ShareRow& r = answer.rows(0);
    table.row({time_cell(answer.time()), fixed_text(r.norm_shares(), 4),
               fixed_text(r.effective_usage(), 4), significant_text(r.level_fs()),
               fixed_text(r.raw_usage_gpu_seconds() / 3600, 2), gpus_text(r.running_milligpu()),
               gpus_text(r.held_milligpu()), gpus_text(r.queued_milligpu()),
               gpus_text(r.quota_milligpu()), gpus_text(r.borrowed_milligpu()),
               gpus_text(r.lent_milligpu()), std::to_string(r.queued_jobs())});
  }
  return table;
}

}  // namespace

void add_share_moments(Command& command, ShareMoments& moments) {
  command.option("--from", moments.from,
                 "show ACCOUNT over time from here on: a day (from 00:00 UTC), a time, or 7d for "
                 "seven days ago",
                 "TIME");
  command.option("--to", moments.to, "end of the period, written as for --from; default: now",
                 "TIME");
  command.option("--step", moments.step,
                 "time between two rows, from 5m on; default: 1h; at most 3,000 rows", "DURATION");
}

int show_share_history(Session& s, const std::string& account, const ShareMoments& moments) {
  const TimeMs now = now_ms();
  std::vector<v1::ListSharesResponse> answers;
  for (const TimeMs at : moments_of(moments, now)) {
    const std::string moment = at >= now ? "" : exact_time_text(to_timestamp(at));
    if (auto answer = row_at(s, account, moment)) {
      // Where the service's clock was set forward, several moments have one state.
      if (!answers.empty() && to_ms(answers.back().time()) == to_ms(answer->time())) continue;
      answers.push_back(std::move(*answer));
      if (s.form() == Form::kJson || s.form() == Form::kYaml)
        s.show_one_of_many(answers.back(), [] {});
    }
  }
  if (answers.empty()) {
    throw Failure{kExitNotFound, "--from: there is no figure of \"" + account + "\" in this period",
                  "use a later period: the store has no facts of it, or no such account", "", ""};
  }
  if (s.form() != Form::kJson && s.form() != Form::kYaml)
    s.show(answers.back(), [&] { return moments_table(answers); });
  return kExitDone;
}

}  // namespace subak::cli

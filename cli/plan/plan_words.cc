// The texts of the plan of the fleet, for the terminal and the SVG drawing.
#include <algorithm>

#include "cli/plan/plan_parts.h"
#include "cli/text/local_time.h"
#include "cli/text/words.h"

namespace subak::cli {
namespace {

// Returns a short time. It has the day only if that is not the plan's first day, and seconds only
// if the plan is short.
std::string clock_text(TimeMs at, const v1::Plan& plan) {
  constexpr std::size_t kDay = 5, kTime = 11;
  const std::string text = local_time_text(at);
  const bool is_short = to_ms(plan.until()) - to_ms(plan.time()) <= 2 * kHourMs;
  const std::string time = text.substr(kTime, is_short ? 8 : 5);
  const bool same_day = local_time_text(to_ms(plan.time())).substr(0, 10) == text.substr(0, 10);
  return same_day ? time : text.substr(kDay, 6) + time;
}

std::string job_text(const std::string& id, const std::string& name) {
  return name.empty() ? id : id + " " + printable(name);
}

}  // namespace

std::vector<PlanTick> plan_ticks(const v1::Plan& plan, int most) {
  const TimeMs from = to_ms(plan.time()), until = to_ms(plan.until());
  DurationMs step = 0;
  for (const DurationMs one :
       {kMinuteMs, 2 * kMinuteMs, 5 * kMinuteMs, 10 * kMinuteMs, 15 * kMinuteMs, 30 * kMinuteMs,
        kHourMs, 2 * kHourMs, 3 * kHourMs, 6 * kHourMs, 12 * kHourMs, kDayMs, 2 * kDayMs,
        5 * kDayMs, 10 * kDayMs}) {
    step = one;
    if ((until - from) / step <= most) break;
  }
  const DurationMs offset = utc_offset_ms(from);
  std::vector<PlanTick> out;
  for (TimeMs at = (from + offset + step - 1) / step * step - offset; at < until; at += step) {
    const std::string text = local_time_text(at);
    const std::string time = text.substr(11, 5);
    out.push_back({at, time == "00:00" ? text.substr(5, 5) : time});
  }
  return out;
}

std::string plan_head(const v1::Plan& plan) {
  const DurationMs step = to_ms(plan.step());
  const DurationMs span = to_ms(plan.until()) - to_ms(plan.time());
  const DurationMs rounded = (span + kSecondMs / 2) / kSecondMs * kSecondMs;
  std::string text = age_text(rounded) + " from " + time_text(plan.time()) + ", a column is " +
                     (step < kSecondMs ? std::to_string(step) + "ms" : age_text(step)) +
                     "; state " + std::to_string(plan.state_seq());
  if (!plan.has_forecast_time()) return text + ", no forecast";
  const DurationMs age = to_ms(plan.time()) - to_ms(plan.forecast_time());
  return text + (age < kSecondMs ? ", forecast of now" : ", forecast " + age_text(age) + " old");
}

std::string plan_row_name(const v1::PlanRow& row) {
  const std::string name = printable(row.name());
  const std::string count = std::to_string(row.domains());
  if (row.kind() == "product") return "all " + count;
  if (row.kind() == "rack") return "rack " + name + " (" + count + ")";
  return row.domains() > 1 ? name + " +" + std::to_string(row.domains() - 1) : name;
}

std::string plan_lane_text(const v1::PlanLane& lane) {
  const std::string verb = lane.kind() == v1::PLAN_KIND_RUNS   ? "runs "
                           : lane.kind() == v1::PLAN_KIND_IDLE ? "idle for "
                                                               : "starts ";
  if (lane.jobs() > 1) return verb + std::to_string(lane.jobs()) + " others";
  return verb + job_text(lane.job_id(), lane.job_name());
}

std::string plan_lanes_text(const v1::PlanRow& row) {
  std::int64_t run = 0, idle = 0, come = 0;
  for (const v1::PlanLane& lane : row.lanes()) {
    (lane.kind() == v1::PLAN_KIND_RUNS   ? run
     : lane.kind() == v1::PLAN_KIND_IDLE ? idle
                                         : come) += lane.jobs();
  }
  std::string text;
  const auto add = [&text](std::int64_t jobs, const char* what) {
    if (jobs > 0) text += (text.empty() ? "" : ", ") + std::to_string(jobs) + what;
  };
  add(run, " run");
  add(come, " start");
  add(idle, " kept");
  return text;
}

std::string plan_job_word(const v1::PlanJob& job) {
  if (job.kind() == v1::PLAN_KIND_RUNS) return "runs";
  if (job.kind() == v1::PLAN_KIND_FORECAST) return "forecast";
  return job.expected_start().promised() ? "promised" : "estimated";
}

std::string plan_start_text(const v1::PlanJob& job, const v1::Plan& plan) {
  if (!job.has_start()) return "not known";
  const std::string start = clock_text(to_ms(job.start()), plan);
  if (job.kind() == v1::PLAN_KIND_RUNS) return start;
  if (!job.expected_start().promised()) return "~" + start + (job.start_assumed() ? "*" : "");
  const std::string by = clock_text(to_ms(job.expected_start().latest()), plan);
  return start == by ? "by " + by : "~" + start + ", by " + by;
}

std::string plan_end_text(const v1::PlanJob& job, const v1::Plan& plan) {
  if (!job.has_end()) return "not known";
  const std::string end = clock_text(to_ms(job.end()), plan);
  const bool is_sure =
      job.kind() == v1::PLAN_KIND_RUNS && job.job().limit_enforced() && job.job().has_planned_end();
  if (!is_sure) return "~" + end + (job.end_assumed() || job.start_assumed() ? "*" : "");
  const std::string by = clock_text(to_ms(job.job().planned_end()), plan);
  return end == by ? "by " + by : "~" + end + ", by " + by;
}

bool plan_is_assumed(const v1::Plan& plan) {
  return std::any_of(plan.jobs().begin(), plan.jobs().end(), [](const v1::PlanJob& job) {
    return job.end_assumed() || job.start_assumed();
  });
}

}  // namespace subak::cli

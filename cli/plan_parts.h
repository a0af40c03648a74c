// The fleet by time as a person sees it: lines for a terminal, a table of jobs, a picture. Threads: none.
#pragma once

#include <string>
#include <vector>

#include "cli/session.h"
#include "cli/table.h"
#include "core/quantity.h"
#include "subak/v1/plan.pb.h"

namespace subak::cli {

// Columns of time that a line of the terminal has room for.
inline constexpr int kPlanBarColumns = 50;

// Where on the time axis something round is, and what it is: "14:00", or "03-02" where a day begins.
struct PlanTick {
  TimeMs at_ms = 0;
  std::string label;
};
// About `most`, and at most one more; round in the local zone.
std::vector<PlanTick> plan_ticks(const v1::Plan& plan, int most);
// "12h from 2026-03-01 14:00:00 CET on, a column is 15m; state 4711, forecast 3s old".
std::string plan_head(const v1::Plan& plan);
// "node-1", "node-1 +7" for those that do the same, "rack r1 (16)", "all 700".
std::string plan_row_name(const v1::PlanRow& row);
// "runs 1-42 train", "idle for 1-43 big", "starts 12 others".
std::string plan_lane_text(const v1::PlanLane& lane);
// "~16:20, by 18:00": when a job starts, ends. As in the table.
std::string plan_start_text(const v1::PlanJob& job, const v1::Plan& plan);
std::string plan_end_text(const v1::PlanJob& job, const v1::Plan& plan);
// "runs"; of who waits: "promised" or "estimated" where nodes are kept, else "forecast".
std::string plan_job_word(const v1::PlanJob& job);

// Domains by time, at most kTableColumns wide.
void print_plan(Session& s, const v1::Plan& plan);
Table plan_job_table(const v1::Plan& plan);
// A whole file. It needs nothing else, and shows itself in light and dark.
std::string plan_svg(const v1::Plan& plan);

}  // namespace subak::cli

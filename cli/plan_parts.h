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
// All lanes of a row: "21 run, 26 start, 1 kept".
std::string plan_lanes_text(const v1::PlanRow& row);
// "~16:20, by 18:00": when a job starts, ends. As in the table.
std::string plan_start_text(const v1::PlanJob& job, const v1::Plan& plan);
std::string plan_end_text(const v1::PlanJob& job, const v1::Plan& plan);
// "runs"; of who waits: "promised" or "estimated" where nodes are kept, else "forecast".
std::string plan_job_word(const v1::PlanJob& job);

// How many lines the rows of the plan have with a line for each lane.
std::size_t plan_lines(const v1::Plan& plan);
// Domains by time, at most kTableColumns wide. `lanes`: a line for each lane of a row. Else one for all of them, and with
// the sums at most `rows` lines.
void print_plan(Session& s, const v1::Plan& plan, std::size_t rows, bool lanes);
// Of `most` jobs, by index: of each kind as many, and more of those that have more.
std::vector<int> plan_jobs_shown(const v1::Plan& plan, std::size_t most);
Table plan_job_table(const v1::Plan& plan, const std::vector<int>& shown);
// Some time of a job of the plan rests on a run time that is assumed: it has a star.
bool plan_is_assumed(const v1::Plan& plan);
// A whole file. It needs nothing else, and shows itself in light and dark.
std::string plan_svg(const v1::Plan& plan);

}  // namespace subak::cli

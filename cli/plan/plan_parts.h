// The fleet by time for people: lines for a terminal, a table of jobs, an SVG drawing. Threads:
// none.
#pragma once

#include <string>
#include <vector>

#include "cli/session.h"
#include "cli/text/table.h"
#include "core/quantity.h"
#include "subak/v1/plan.pb.h"

namespace subak::cli {

// Columns of time in a line of the terminal.
inline constexpr int kPlanBarColumns = 50;

// A round time on the time axis with its label: "14:00", or "03-02" at the start of a day.
struct PlanTick {
  // UTC, within the plan.
  TimeMs at_ms = 0;
  // In the local zone.
  std::string label;
};
// Returns about `most` ticks, at most one more; round in the local zone.
std::vector<PlanTick> plan_ticks(const v1::Plan& plan, int most);
// Returns "12h from 2026-03-01 14:00:00 CET on, a column is 15m; state 4711, forecast 3s old".
std::string plan_head(const v1::Plan& plan);
// Returns "node-1", "node-1 +7" for nodes that do the same, "rack r1 (16)", "all 700".
std::string plan_row_name(const v1::PlanRow& row);
// Returns "runs 1-42 train", "idle for 1-43 big", "starts 12 others".
std::string plan_lane_text(const v1::PlanLane& lane);
// Sums up all lanes of a row: "21 run, 26 start, 1 kept".
std::string plan_lanes_text(const v1::PlanRow& row);
// Return when a job starts or ends, as in the table: "~16:20, by 18:00".
std::string plan_start_text(const v1::PlanJob& job, const v1::Plan& plan);
std::string plan_end_text(const v1::PlanJob& job, const v1::Plan& plan);
// Returns "runs" for a running job. For a waiting job it is "promised" or "estimated" with reserved
// nodes, else "forecast".
std::string plan_job_word(const v1::PlanJob& job);

// Returns the number of lines of the plan's rows with a line for each lane.
std::size_t plan_lines(const v1::Plan& plan);
// Prints domains by time, at most kTableColumns wide. With `lanes` each lane of a row has a line.
// Otherwise each row has one line, and with the sums there are at most `rows` lines.
void print_plan(Session& s, const v1::Plan& plan, std::size_t rows, bool lanes);
// Returns the indexes of `most` jobs: as many of each kind, and more of the kinds that have more.
std::vector<int> plan_jobs_shown(const v1::Plan& plan, std::size_t most);
// Returns the table of these jobs of the plan, by index.
Table plan_job_table(const v1::Plan& plan, const std::vector<int>& shown);
// True if a time of a job in the plan rests on an assumed run time; it has a star then.
bool plan_is_assumed(const v1::Plan& plan);
// Returns a complete SVG file. It needs no other file, and adapts to light and dark.
std::string plan_svg(const v1::Plan& plan);

}  // namespace subak::cli

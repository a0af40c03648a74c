// The plan of the fleet for people, as `subak plan` shows it: lines for a terminal, a table of
// jobs, an SVG drawing. The plan says which jobs have which GPUs at which time. A row is an NVLink
// domain or several; a lane is the part of a row that belongs to one job.
// Threads: any; the functions have no shared state.
#pragma once

#include <string>
#include <vector>

#include "cli/session.h"
#include "cli/text/table.h"
#include "core/quantity.h"
#include "subak/v1/plan.pb.h"

namespace subak::cli {

// The number of columns for time in a line of the terminal.
inline constexpr int kPlanBarColumns = 50;

// A round time on the time axis with its label: "14:00", or "03-02" at the start of a day.
struct PlanTick {
  // The time in UTC, within the plan.
  TimeMs at_ms = 0;
  // The label, in the local time zone.
  std::string label;
};
// Returns about `most` ticks, and never more than `most` + 1. The times are round in the local time
// zone.
std::vector<PlanTick> plan_ticks(const v1::Plan& plan, int most);
// Returns the heading, such as "12h from 2026-03-01 14:00:00 CET on, a column is 15m; state 4711,
// forecast 3s old".
std::string plan_head(const v1::Plan& plan);
// Returns the name of a row: "node-1", "rack r1 (16)", "all 700", or "node-1 +7" for eight nodes
// that have the same jobs.
std::string plan_row_name(const v1::PlanRow& row);
// Returns "runs 1-42 train", "idle for 1-43 big", "starts 12 others".
std::string plan_lane_text(const v1::PlanLane& lane);
// Sums up all lanes of a row: "21 run, 26 start, 1 kept".
std::string plan_lanes_text(const v1::PlanRow& row);
// Return the text of the table for a job's start or end: "~16:20, by 18:00".
std::string plan_start_text(const v1::PlanJob& job, const v1::Plan& plan);
std::string plan_end_text(const v1::PlanJob& job, const v1::Plan& plan);
// Returns "runs" for a running job. For a waiting job with reserved nodes it returns "promised" or
// "estimated", for any other waiting job "forecast".
std::string plan_job_word(const v1::PlanJob& job);

// Returns how many lines the plan takes if each lane of each row has its own line.
std::size_t plan_lines(const v1::Plan& plan);
// Prints each NVLink domain as a line of time, at most kTableColumns wide. With `lanes`, each lane
// of a row has its own line. Without `lanes`, each row has one line. The sum of each product is
// also printed, but without `lanes` only if all lines together are at most `rows`.
void print_plan(Session& s, const v1::Plan& plan, std::size_t rows, bool lanes);
// Returns the indexes of at most `most` jobs. It takes the jobs of all kinds in turn, so a kind
// with few jobs leaves its share to the other kinds.
std::vector<int> plan_jobs_shown(const v1::Plan& plan, std::size_t most);
// Returns the table of these jobs of the plan, by index.
Table plan_job_table(const v1::Plan& plan, const std::vector<int>& shown);
// True if a time of some job in the plan depends on an assumed run time. The output marks such a
// time with a star.
bool plan_is_assumed(const v1::Plan& plan);
// Returns a complete SVG file. The drawing needs no other file, and adapts to a light or dark
// background.
std::string plan_svg(const v1::Plan& plan);

}  // namespace subak::cli

// The fleet by time as a person sees it: the lines to the letter, the picture as XML.
#include <gtest/gtest.h>

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <cstdlib>
#include <ctime>
#include <sstream>
#include <string>
#include <vector>

#include "cli/plan/plan_parts.h"
#include "cli/text/words.h"

namespace subak::cli {
namespace {

constexpr TimeMs kNoon = 1'772'366'400'000;  // 2026-03-01 12:00:00 UTC
constexpr int kColumns = kPlanBarColumns;

class PlanTest : public testing::Test {
 protected:
  PlanTest() {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }
  static Timestamp at(DurationMs after) { return to_timestamp(kNoon + after); }
};

// A lane with so much from one column to another.
void lane(v1::PlanRow* row, v1::PlanKind kind, const std::string& id, const std::string& name,
          int from, int to, std::int64_t milligpu, int jobs = 1) {
  v1::PlanLane* const out = row->add_lanes();
  out->set_kind(kind);
  out->set_jobs(jobs);
  out->set_job_id(id);
  out->set_job_name(name);
  for (int i = 0; i < kColumns; ++i) out->add_milligpu(from <= i && i < to ? milligpu : 0);
}

v1::PlanRow* row(v1::Plan& plan, const std::string& name, int domains, std::int64_t installed) {
  v1::PlanRow* const out = plan.add_rows();
  out->set_cluster("main");
  out->set_product("NVIDIA-H100-80GB-HBM3");
  out->set_kind("node");
  out->set_name(name);
  out->set_domains(domains);
  out->set_nodes(domains);
  out->set_installed_milligpu(installed);
  return out;
}

void finish(v1::PlanRow* row, std::int64_t closed) {
  for (int i = 0; i < kColumns; ++i) {
    std::int64_t free = row->installed_milligpu() - closed;
    for (const v1::PlanLane& lane : row->lanes()) free -= lane.milligpu(i);
    row->add_free_milligpu(free);
    row->add_closed_milligpu(closed);
  }
}

v1::PlanJob* job(v1::Plan& plan, v1::PlanKind kind, const std::string& id, const std::string& name,
                 int gpus) {
  v1::PlanJob* const out = plan.add_jobs();
  out->set_kind(kind);
  out->mutable_job()->set_id(id);
  out->mutable_job()->mutable_spec()->set_name(name);
  out->mutable_job()->mutable_spec()->set_account("ml.vision");
  out->mutable_job()->mutable_spec()->set_user("ana");
  out->mutable_job()->set_milligpu(gpus * 1000);
  out->add_nodes("node-2");
  out->set_node_count(2);
  return out;
}

// A node that is full for a while, two that are kept for a gang, six that do nothing, and names as bad as
// they can be.
v1::Plan small(const std::string& evil = "big<&>\x1b[31m\xEF\xBF\xBF") {
  v1::Plan plan;
  *plan.mutable_time() = to_timestamp(kNoon);
  *plan.mutable_until() = to_timestamp(kNoon + 10 * kHourMs);
  *plan.mutable_step() = to_duration(10 * kHourMs / kColumns);
  *plan.mutable_forecast_time() = to_timestamp(kNoon - 3000);
  plan.set_state_seq(4711);
  v1::PlanRow* one = row(plan, "node-1", 1, 8000);
  lane(one, v1::PLAN_KIND_RUNS, "1-12", "train-llama", 0, 20, 4000);
  lane(one, v1::PLAN_KIND_RUNS, "1-13", "", 0, 5, 2000, 7);
  lane(one, v1::PLAN_KIND_FORECAST, "1-77", "eval", 20, 50, 100);
  finish(one, 1000);
  v1::PlanRow* kept = row(plan, "node-2", 2, 16000);
  lane(kept, v1::PLAN_KIND_RUNS, "1-14", "short", 0, 10, 8000);
  lane(kept, v1::PLAN_KIND_IDLE, "1-42", evil, 0, 10, 8000);
  kept->mutable_lanes(1)->set_milligpu(9, 16000 - 8000);
  lane(kept, v1::PLAN_KIND_FORECAST, "1-42", evil, 10, 50, 16000);
  finish(kept, 0);
  finish(row(plan, "node-4", 6, 48000), 0);
  v1::PlanJob* const idle = job(plan, v1::PLAN_KIND_IDLE, "1-42", evil, 16);
  *idle->mutable_start() = to_timestamp(kNoon + 2 * kHourMs);
  *idle->mutable_end() = to_timestamp(kNoon + 14 * kHourMs);
  idle->mutable_expected_start()->set_promised(true);
  *idle->mutable_expected_start()->mutable_latest() = to_timestamp(kNoon + 3 * kHourMs);
  idle->set_idle_milligpu(8000);
  v1::PlanJob* const runs = job(plan, v1::PLAN_KIND_RUNS, "1-12", "train-llama", 4);
  *runs->mutable_start() = to_timestamp(kNoon - 30 * kHourMs);
  *runs->mutable_end() = to_timestamp(kNoon + 4 * kHourMs);
  runs->mutable_job()->set_limit_enforced(true);
  *runs->mutable_job()->mutable_planned_end() = to_timestamp(kNoon + 6 * kHourMs);
  v1::PlanJob* const comes = job(plan, v1::PLAN_KIND_FORECAST, "1-77", "eval", 1);
  *comes->mutable_start() = to_timestamp(kNoon + 4 * kHourMs);
  *comes->mutable_end() = to_timestamp(kNoon + 40 * kHourMs);
  return plan;
}

std::string lines_of(const v1::Plan& plan, bool colour = false, bool lanes = true) {
  std::ostringstream out, err;
  const GlobalOptions options;
  Session session(Screen{out, err, colour, false}, options);
  print_plan(session, plan, 15, lanes);
  out << '\n';
  plan_job_table(plan, plan_jobs_shown(plan, 15)).print(out, false);
  return out.str();
}

TEST_F(PlanTest, TheLinesAreThese) {
  const std::string want =
      R"(10h from 2026-03-01 12:00:00 UTC, a column is 12m; state 4711, forecast 3s old

DOMAIN             GPUS  WHAT                     |12:00    |14:00    |16:00    |18:00    |20:00

NVIDIA-H100-80GB-HBM3 in main
9 domains            72  free                     ▅▅▅▅▅▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆
node-1                8  runs 1-12 train-llama    ▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄
                         runs 7 others            ▂▂▂▂▂
                         starts 1-77 eval                             ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
                         closed                   ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
node-2 +1            16  runs 1-14 short          ▄▄▄▄▄▄▄▄▄▄
                         idle for 1-42 big        ▄▄▄▄▄▄▄▄▄▄
                         starts 1-42 big                    ████████████████████████████████████████
node-4 +5            48  free                     ██████████████████████████████████████████████████

JOB  NAME        ACCOUNT       GPUS WHAT     START            END              IDLE NODES
1-42 big         ml.vision/ana   16 promised ~14:00, by 15:00 ~03-02 02:00        8 node-2 +1
1-12 train-llama ml.vision/ana    4 runs     02-28 06:00      ~16:00, by 18:00      node-2 +1
1-77 eval        ml.vision/ana    1 forecast ~16:00           ~03-03 04:00          node-2 +1
)";
  EXPECT_EQ(lines_of(small("big")), want);
}

TEST_F(PlanTest, UsuallyARowIsOneLine) {
  v1::Plan plan = small("big");
  plan.mutable_jobs(1)->mutable_job()->set_limit_enforced(false);
  plan.mutable_jobs(1)->set_end_assumed(true);
  plan.mutable_jobs(2)->set_start_assumed(true);
  const std::string want =
      R"(10h from 2026-03-01 12:00:00 UTC, a column is 12m; state 4711, forecast 3s old

DOMAIN             GPUS  WHAT                     |12:00    |14:00    |16:00    |18:00    |20:00

NVIDIA-H100-80GB-HBM3 in main
9 domains            72  free                     ▅▅▅▅▅▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆
node-1                8  8 run, 1 start, part cl… ▆▆▆▆▆▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
node-2 +1            16  1 run, 1 start, 1 kept   ▄▄▄▄▄▄▄▄▄▄████████████████████████████████████████
node-4 +5            48  free

JOB   NAME         ACCOUNT        GPUS  WHAT      START             END            IDLE  NODES
1-42  big          ml.vision/ana    16  promised  ~14:00, by 15:00  ~03-02 02:00      8  node-2 +1
1-12  train-llama  ml.vision/ana     4  runs      02-28 06:00       ~16:00*              node-2 +1
1-77  eval         ml.vision/ana     1  forecast  ~16:00*           ~03-03 04:00*        node-2 +1
)";
  EXPECT_EQ(lines_of(plan, false, false), want);
  EXPECT_TRUE(plan_is_assumed(plan));
  EXPECT_FALSE(plan_is_assumed(small()));
}

// As many of each kind, and what is left of the others.
TEST_F(PlanTest, TheJobsThatAreShownAreOfEachKind) {
  v1::Plan plan;
  for (int i = 0; i < 2; ++i) job(plan, v1::PLAN_KIND_IDLE, "1-1", "", 1);
  for (int i = 0; i < 9; ++i) job(plan, v1::PLAN_KIND_RUNS, "1-2", "", 1);
  for (int i = 0; i < 9; ++i) job(plan, v1::PLAN_KIND_FORECAST, "1-3", "", 1);
  EXPECT_EQ(plan_jobs_shown(plan, 9), (std::vector<int>{0, 1, 2, 3, 4, 5, 11, 12, 13}));
  EXPECT_EQ(plan_jobs_shown(plan, 2), (std::vector<int>{0, 2}));
  EXPECT_EQ(plan_jobs_shown(plan, 100).size(), 20u);
  EXPECT_TRUE(plan_jobs_shown({}, 15).empty());
}

// A sum for each product would be more than the rows that are asked for.
TEST_F(PlanTest, SumsAreLeftAwayWhereRowsAreMany) {
  v1::Plan plan = small();
  for (int i = 0; i < 12; ++i) finish(row(plan, "other-" + std::to_string(i), 1, 8000), 0);
  EXPECT_EQ(lines_of(plan, false, false).find("21 domains"), std::string::npos);
  EXPECT_NE(lines_of(small(), false, false).find("9 domains"), std::string::npos);
}

// A plan of less than two hours has seconds, and midnight in it has days.
TEST_F(PlanTest, TheLongestTimesFit) {
  v1::Plan plan = small();
  *plan.mutable_time() = to_timestamp(kNoon + 11 * kHourMs + 59 * kMinuteMs);
  *plan.mutable_until() = to_timestamp(kNoon + 13 * kHourMs);
  for (v1::PlanJob& one : *plan.mutable_jobs()) {
    one.mutable_job()->set_id("12-1234567");
    *one.mutable_start() = to_timestamp(kNoon + 13 * kHourMs);
    *one.mutable_end() = to_timestamp(kNoon + 15 * kHourMs);
    one.mutable_expected_start()->set_promised(true);
    *one.mutable_expected_start()->mutable_latest() = to_timestamp(kNoon + 14 * kHourMs);
    one.mutable_job()->set_limit_enforced(true);
    *one.mutable_job()->mutable_planned_end() = to_timestamp(kNoon + 16 * kHourMs);
  }
  std::istringstream lines(lines_of(plan, false, false));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(display_width(line), kTableColumns) << line;
  }
}

TEST_F(PlanTest, NothingIsWiderThanATerminalAndNothingMovesTheCursor) {
  v1::Plan plan = small();
  plan.mutable_rows(0)->set_name(std::string(300, 'n'));
  plan.mutable_rows(0)->set_product(std::string(300, 'p'));
  plan.mutable_jobs(1)->mutable_job()->mutable_spec()->set_name(std::string(300, 'j'));
  std::istringstream lines(lines_of(plan));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(display_width(line), kTableColumns) << line;
    EXPECT_EQ(line.find('\x1b'), std::string::npos) << line;
  }
  EXPECT_NE(lines_of(plan, true).find("\x1b[32m"), std::string::npos) << "on a terminal";
}

TEST_F(PlanTest, TicksAreRoundInTheLocalZone) {
  ::setenv("TZ", "Asia/Kolkata", 1);
  ::tzset();
  const auto ticks = plan_ticks(small(), 6);
  ASSERT_EQ(ticks.size(), 5u);
  EXPECT_EQ(ticks[0].label, "18:00");
  EXPECT_EQ(ticks[0].at_ms, kNoon + 30 * kMinuteMs);
  EXPECT_EQ(ticks[3].label, "03-02");
  v1::Plan month = small();
  *month.mutable_until() = to_timestamp(kNoon + 30 * kDayMs);
  EXPECT_LE(plan_ticks(month, 6).size(), 7u);
}

// Whatever the names are, the picture is XML, and what they say is text.
TEST_F(PlanTest, ThePictureIsWellFormed) {
  for (const v1::Plan& plan : {small(), v1::Plan()}) {
    const std::string svg = plan_svg(plan);
    std::istringstream in(svg);
    boost::property_tree::ptree tree;
    ASSERT_NO_THROW(boost::property_tree::read_xml(in, tree));
    EXPECT_EQ(tree.front().first, "svg");
    EXPECT_NE(svg.find("prefers-color-scheme:dark"), std::string::npos);
    EXPECT_EQ(svg.find("href"), std::string::npos) << "it needs nothing else";
    EXPECT_EQ(svg.find('\x1b'), std::string::npos);
    EXPECT_EQ(svg.find("\xEF\xBF\xBF"), std::string::npos);
  }
  const std::string svg = plan_svg(small());
  EXPECT_NE(svg.find("idle for 1-42 big&lt;&amp;&gt;"), std::string::npos);
  EXPECT_NE(svg.find("<title>runs 1-12 train-llama: 4 GPUs of ml.vision/ana\nruns, starts 02-28 "
                     "06:00, ends ~16:00, by 18:00</title>"),
            std::string::npos)
      << svg;
}

}  // namespace
}  // namespace subak::cli

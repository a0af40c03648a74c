#include "sim/report/json_out.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <limits>
#include <sstream>

#include "sim/report.h"

namespace subak::sim {
namespace {

TEST(JsonOut, WritesWhatAParserReadsBack) {
  std::ostringstream out;
  JsonOut json(out);
  json.open('{').field("a", 1.5).field("b", std::int64_t{-3}).key("c").open('[');
  json.value("x\"\\\n").null().value(std::numeric_limits<double>::infinity());
  json.close(']').key("d").open('{').close('}').key("e").exact(0.1 + 0.2).close('}');
  const boost::json::value v = boost::json::parse(out.str());
  EXPECT_EQ(v.at("a").as_double(), 1.5);
  EXPECT_EQ(v.at("b").as_int64(), -3);
  EXPECT_EQ(v.at("c").at(0).as_string(), "x\"\\\n");
  EXPECT_TRUE(v.at("c").at(2).is_null());
  EXPECT_TRUE(v.at("d").as_object().empty());
  EXPECT_EQ(v.at("e").as_double(), 0.1 + 0.2);
}

TEST(Report, JsonHasTheDocumentedNames) {
  SimResult r;
  r.policy = "exact";
  r.jobs = 7;
  r.jain.hour = 0.5;
  std::ostringstream out;
  print_json({r}, false, out);
  const boost::json::value v = boost::json::parse(out.str());
  for (const char* name :
       {"jobs", "finished", "unplaceable", "wait_s", "bounded_slowdown", "utilisation", "jain",
        "max_deviation", "quota", "fragmentation", "kept_idle_gpu_hours", "kept_beside_gpu_hours",
        "eta", "wall_s", "sim_speedup"}) {
    EXPECT_TRUE(v.as_object().contains(name)) << name;
  }
  for (const char* name : {"mean", "p50", "p90", "p99", "by_size"}) {
    EXPECT_TRUE(v.at("wait_s").as_object().contains(name)) << name;
  }
  EXPECT_TRUE(v.at("wait_s").at("by_size").as_object().contains("17-64"));
  EXPECT_EQ(v.at("jain").at("1h").as_double(), 0.5);
  EXPECT_TRUE(v.at("jain").at("7d").is_null());
  EXPECT_TRUE(v.at("eta").at("coverage_90").is_null());

  EXPECT_TRUE(v.at("quota").is_null());

  r.quota.emplace();
  r.quota->within_s.p90 = 30;
  r.quota->lost_gpu_h = 2.5;
  std::ostringstream with_quota;
  print_json({r}, false, with_quota);
  const boost::json::value q = boost::json::parse(with_quota.str()).at("quota");
  EXPECT_EQ(q.at("wait_within_s").at("p90").to_number<double>(), 30);
  EXPECT_EQ(q.at("wait_beyond_s").at("jobs").as_int64(), 0);
  EXPECT_EQ(q.at("lost_gpu_hours").to_number<double>(), 2.5);
  for (const char* name : {"queued_within_gpu_hours", "preemptions", "preempted_jobs",
                           "most_of_one_job", "lost_part"}) {
    EXPECT_TRUE(q.as_object().contains(name)) << name;
  }

  std::ostringstream both;
  print_json({r, r}, true, both);
  EXPECT_EQ(boost::json::parse(both.str()).at("results").as_array().size(), 2u);
}

TEST(Report, TablesFitAHundredColumns) {
  Workload w;
  w.nodes = *read_nodes("80x8");
  w.capacity = 640'000;
  w.to_ms = w.from_ms + 14 * kDayMs;
  SimResult r;
  r.policy = "target-share";
  r.wait_s = {82'247, 1234567, 99.94, 123456.7, 9999999};
  r.sim_speedup = 123456789;
  r.quota = QuotaResult{r.wait_s, r.wait_s, 9999999, 1'000'000, 82'247, 1000, 9999999, 1};
  r.teams = {{"a-team-with-quite-a-long-name-for-a-team", 1'000'000, 640'000, 99'999, 9999999,
              9999999, 9999999, 5184000}};
  for (const std::size_t columns : {1, 5}) {
    std::ostringstream out;
    print_table(w, std::vector<SimResult>(columns, r), out);
    std::istringstream lines(out.str());
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
  }
  ToyRow row{"20 uneven 1..20, 10m", {"target-share", "exact", "usage-tick", "drf"}, {}};
  row.results.assign(4, {19.55, 41.25, 12.75, 0, 0});
  std::ostringstream out;
  print_toy({row}, out);
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

}  // namespace
}  // namespace subak::sim

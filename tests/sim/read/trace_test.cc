#include "sim/read/trace.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/sim/temp_dir.h"

namespace subak::sim {
namespace {

constexpr char kHeader[] = "job_id,submit_s,duration_s,gpus,gpu_type,team,user,gang_pods,state\n";

TEST(Trace, ReadsRowsInOrderOfSubmission) {
  TempDir dir;
  const auto jobs = read_trace(
      dir.write("t.csv", std::string(kHeader) + "b,20,0,12,V100|A100|V100,Ml.Vision,ana,3,ok\n"
                                                "a,10,5.5,0.46,,,,,\n"
                                                "c,20,7,1,,,,1,\n"));
  ASSERT_TRUE(jobs.ok()) << jobs.error().message();
  ASSERT_EQ(jobs->size(), 3u);
  EXPECT_EQ((*jobs)[0].id, "a");
  EXPECT_EQ((*jobs)[0].team, "none");
  EXPECT_EQ((*jobs)[0].milligpu, 460);
  EXPECT_EQ((*jobs)[0].duration_ms, 5500);
  EXPECT_EQ((*jobs)[1].id, "b");
  EXPECT_EQ((*jobs)[1].duration_ms, 1);
  EXPECT_EQ((*jobs)[1].products, (std::vector<std::string>{"A100", "V100"}));
  EXPECT_EQ((*jobs)[1].gang_pods, 3u);
  EXPECT_EQ((*jobs)[2].id, "c");
  EXPECT_EQ(account_name("Ml.Vision"), "ml_vision");
}

TEST(Trace, RefusesBadRowsWithLineAndField) {
  TempDir dir;
  const std::pair<const char*, const char*> bad[] = {
      {"a,x,5,1,,,,,", ":2: submit_s"},
      {"a,1,-5,1,,,,,", ":2: duration_s"},
      {"a,1,5,0,,,,,", ":2: gpus"},
      {"a,1,5,1.5,,,,,", ":2: gpus"},
      {"a,1,5,,,,,,", ":2: gpus"},
      {",1,5,1,,,,,", ":2: job_id"},
      {"a,1,5,2,,,,3,", ":2: gang_pods"},
      {"a,1,5,2,,,,0,", ":2: gang_pods"},
      {"a,1,5", ":2"},
      {"a,99999999999,5,1,,,,,", ":2: submit_s"},
      {"a,1,5,99999999999999999999,,,,,", ":2: gpus"}};
  for (const auto& [row, where] : bad) {
    const auto jobs = read_trace(dir.write("t.csv", std::string(kHeader) + row + "\n"));
    ASSERT_FALSE(jobs.ok()) << row;
    EXPECT_NE(jobs.error().field.find(where), std::string::npos) << jobs.error().field;
  }
  EXPECT_FALSE(read_trace(dir.write("t.csv", "job_id,submit_s\n")).ok());
}

TEST(Nodes, ReadsAFleetOrASize) {
  TempDir dir;
  const auto fleet = read_nodes(dir.write(
      "n.csv", "node,gpus,gpu_type,cpus,memory_mib\na,2,P100,64,1024\nb,8,,,\nc,0,,4,\n"));
  ASSERT_TRUE(fleet.ok()) << fleet.error().message();
  ASSERT_EQ(fleet->size(), 3u);
  EXPECT_EQ((*fleet)[0].product, "P100");
  EXPECT_EQ((*fleet)[0].cpu_milli, 64'000);
  EXPECT_EQ((*fleet)[0].memory_bytes, 1LL << 30);
  EXPECT_EQ((*fleet)[1].product, "GPU");
  EXPECT_EQ((*fleet)[2].product, "");
  const auto size = read_nodes("80x8:H100");
  ASSERT_TRUE(size.ok());
  EXPECT_EQ(size->size(), 80u);
  EXPECT_EQ((*size)[79].name, "node-79");
  EXPECT_EQ((*size)[79].gpus, 8);
  EXPECT_EQ((*size)[79].product, "H100");
  for (const char* bad : {"80x", "0x8", "80x65", "x8", "8y8", "80x8H"}) {
    EXPECT_FALSE(read_nodes(bad).ok()) << bad;
  }
  EXPECT_FALSE(read_nodes(dir.write("n.csv", "node,gpus\na,65\n")).ok());
  EXPECT_FALSE(read_nodes(dir.write("n.csv", "node,gpus\n")).ok());
}

TEST(Nodes, ReadsWhatKubectlPrints) {
  TempDir dir;
  const auto node = [](const char* name, const char* gpus, const char* spec, const char* ready) {
    return std::string("{\"metadata\": {\"name\": \"") + name +
           "\", \"labels\": {\"nvidia.com/gpu.product\": \"H100\"}}, \"spec\": {" + spec +
           "}, \"status\": {\"allocatable\": {\"nvidia.com/gpu\": \"" + gpus +
           "\"}, \"conditions\": [{\"type\": \"Ready\", \"status\": \"" + ready + "\"}]}}";
  };
  const auto fleet = read_nodes(dir.write(
      "n.json", "{\"items\": [" + node("a", "8", "", "True") + "," +
                    node("b", "8", "\"unschedulable\": true", "True") + "," +
                    node("c", "8", "", "False") + "," + node("d", "0", "", "True") + "]}"));
  ASSERT_TRUE(fleet.ok()) << fleet.error().message();
  ASSERT_EQ(fleet->size(), 1u);
  EXPECT_EQ((*fleet)[0].name, "a");
  EXPECT_EQ((*fleet)[0].product, "H100");
  EXPECT_EQ((*fleet)[0].gpus, 8);
  for (const std::string& bad :
       {std::string("{"), std::string("{\"items\": 3}"), std::string("{\"items\": [{}]}"),
        "{\"items\": [" + node("a", "x", "", "True") + "]}"}) {
    EXPECT_FALSE(read_nodes(dir.write("n.json", bad)).ok()) << bad;
  }
  EXPECT_EQ(read_nodes(dir.path("none.json")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(read_nodes(dir.write("n.json", "{\"items\": [" + node("a", "x", "", "True") + "]}"))
                .error()
                .message(),
            dir.path("n.json") +
                ": node a: nvidia.com/gpu: was \"x\", want a quantity such as 8, 250m or 1Ki");
}

TEST(Nodes, AReplayHasTheWholeGpusThatWork) {
  const auto fleet = read_nodes("tests/cli/data/fleet.json");
  ASSERT_TRUE(fleet.ok()) << fleet.error().message();
  std::map<std::string, std::int64_t> gpus;
  for (const NodeSpec& n : *fleet) {
    gpus[n.name] = n.gpus;
    EXPECT_TRUE(n.mig.empty() && n.taints.empty() && n.unhealthy_gpus == 0) << n.name;
  }
  // Not the node that is cut into slices, nor those whose GPUs are shared, nor the one without any.
  EXPECT_EQ(gpus, (std::map<std::string, std::int64_t>{{"gb200-r1-n1", 4}, {"mig-mixed", 4}}));
  const auto one =
      read_nodes("tests/cli/data/hgx.json");  // a Node alone, with a taint and a sick GPU
  ASSERT_TRUE(one.ok()) << one.error().message();
  ASSERT_EQ(one->size(), 1u);
  EXPECT_EQ((*one)[0].gpus, 7);
  EXPECT_EQ((*one)[0].cpu_milli, 191'500);
}

TEST(TeamTable, ReadsSharesAndRefusesATeamTwice) {
  TempDir dir;
  const auto table = read_team_table(dir.write("w.csv", "team,share\na,3\nb,1.5\n"), "share");
  ASSERT_TRUE(table.ok());
  EXPECT_EQ((*table)[1], (std::pair<std::string, std::int64_t>{"b", 1500}));
  EXPECT_TRUE(read_team_table(dir.write("w.csv", "team,shares,x\na,3,1\n"), "share").ok());
  EXPECT_TRUE(read_team_table(dir.write("w.csv", "weight,team\n3,a\n"), "share").ok());
  EXPECT_FALSE(read_team_table(dir.write("w.csv", "team,x,y\na,3,1\n"), "share").ok());
  EXPECT_FALSE(read_team_table(dir.write("w.csv", "team,share\na,3\na,1\n"), "share").ok());
  EXPECT_FALSE(read_team_table(dir.write("w.csv", "team,share\na,-3\n"), "share").ok());
}

TEST(Trace, ReadsTheRealTraces) {
  SUBAK_NEED_DATA(traces_dir());
  const std::tuple<const char*, std::size_t, std::size_t> known[] = {
      {"philly", 82'247, 552}, {"venus", 125'303, 133}, {"openb", 6'203, 1'213}};
  for (const auto& [name, rows, nodes] : known) {
    const auto jobs = read_trace(traces_dir() + "/" + name + ".csv.gz");
    ASSERT_TRUE(jobs.ok()) << jobs.error().message();
    EXPECT_EQ(jobs->size(), rows);
    const auto fleet = read_nodes(traces_dir() + "/" + name + "-nodes.csv");
    ASSERT_TRUE(fleet.ok()) << fleet.error().message();
    EXPECT_EQ(fleet->size(), nodes);
  }
}

}  // namespace
}  // namespace subak::sim

// The map of a fleet over the wire: what the service writes, the command reads back.
#include "cli/map/map_reader.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "server/api/convert/fleet_map.h"
#include "tests/oracle/random_world.h"

namespace subak::cli {
namespace {

v1::GpuState wire(CellState state) {
  return static_cast<v1::GpuState>(static_cast<int>(state) + 1);
}

std::string job_id(const FleetMap& map, std::uint32_t job) {
  const JobId id = map.jobs.at(job).id;
  return std::to_string(id.cluster().value) + "-" + std::to_string(id.sequence());
}

// Compares each cell, run by run.
void expect_same(const FleetMap& map, const v1::FleetMap& written, const MapView& read) {
  ASSERT_EQ(read.nodes.size(), map.nodes.size());
  ASSERT_EQ(read.jobs.size(), map.jobs.size());
  std::vector<const MapCell*> cells;
  for (std::size_t i = 0; i < map.nodes.size(); ++i) {
    const MapNode& node = read.nodes[i];
    EXPECT_EQ(node.name, map.nodes[i].name);
    EXPECT_EQ(node.kind, static_cast<int>(map.nodes[i].kind));
    EXPECT_EQ(node.condition, static_cast<int>(map.nodes[i].condition) - 1);
    for (const MapCell& cell : node.cells) cells.push_back(&cell);
  }
  const auto is_job = [&](std::int32_t got, std::uint32_t want) {
    if (want == FleetMap::kNoJob) return got == -1;
    return got >= 0 && read.jobs.at(static_cast<std::size_t>(got)) == job_id(map, want);
  };
  std::size_t cell = 0, part = 0;
  for (const FleetMap::Run& run : map.runs) {
    for (std::uint32_t i = 0; i < run.cells; ++i, ++cell) {
      ASSERT_LT(cell, cells.size());
      const MapCell& got = *cells[cell];
      ASSERT_EQ(got.parts.size(), run.parts);
      if (run.parts == 0) {
        EXPECT_EQ(got.whole.state, wire(run.state));
        EXPECT_TRUE(is_job(got.whole.job, run.job));
      }
      for (const MapPart& one : got.parts) {
        const FleetMap::Part& want = map.parts.at(part++);
        EXPECT_EQ(one.state, wire(want.state));
        EXPECT_EQ(one.milligpu, want.milligpu);
        EXPECT_TRUE(is_job(one.job, want.job));
      }
    }
  }
  EXPECT_EQ(cell, cells.size());
  EXPECT_EQ(written.excess_size(), static_cast<int>(map.excess.size()));
}

TEST(MapReader, ReadsWhatTheServiceWrites) {
  std::size_t divided = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    Engine engine;
    sim::RandomWorld world(sim::RandomWorld::Options{seed});
    for (int step = 0; step < 600; ++step) {
      const Input input = world.next(engine.next_deadline());
      world.saw(input, engine.apply(input));
      if (step % 50 != 49) continue;
      const std::shared_ptr<const View> view = engine.view();
      for (const ClusterView& cluster : *view->clusters) {
        v1::GetFleetMapRequest request;
        request.set_cluster(cluster.name);
        v1::FleetMap written;
        ASSERT_FALSE(api::put_fleet_map(engine, request, &written));
        EXPECT_EQ(written.cluster(), cluster.name);
        divided += static_cast<std::size_t>(written.part_counts_size());
        v1::FleetMap sent;
        ASSERT_TRUE(sent.ParseFromString(written.SerializeAsString()));
        const Result<MapView> read = read_map(sent);
        ASSERT_TRUE(read.ok()) << read.error().message();
        expect_same(engine.fleet_map(cluster.id), sent, *read);
      }
    }
  }
  EXPECT_GT(divided, 0u);
}

TEST(MapReader, EndsAreMinutesRoundedUp) {
  FleetMap map;
  map.cluster = ClusterId(3);
  map.time_ms = 100 * kMinuteMs;
  map.owners = {{"ml", "ana"}, {"ml", ""}, {"", ""}};
  map.jobs = {{JobId(ClusterId(3), 9), 0, map.time_ms + 1},
              {JobId(ClusterId(3), 7), 1, map.time_ms + 60 * kMinuteMs},
              {JobId(ClusterId(3), 8), 2, map.time_ms - 1},
              {JobId(ClusterId(3), 5), 0, 0}};
  v1::FleetMap out;
  api::put(map, "east", &out);
  EXPECT_EQ(std::vector<int>(out.job_ends().begin(), out.job_ends().end()),
            (std::vector<int>{2, 61, 1, 0}));
  EXPECT_EQ(out.accounts_size(), 1);
  EXPECT_EQ(std::vector<int>(out.owner_accounts().begin(), out.owner_accounts().end()),
            (std::vector<int>{1, 1, 0}));
  EXPECT_EQ(std::vector<int>(out.owner_users().begin(), out.owner_users().end()),
            (std::vector<int>{1, 0, 0}));
  EXPECT_EQ(read_map(out)->jobs, (std::vector<std::string>{"3-9", "3-7", "3-8", "3-5"}));
}

// Names share whole characters, so that each part of a name is UTF-8.
TEST(MapReader, NamesShareTheirBeginningAndTheirEnd) {
  const auto names_of = [](const std::vector<std::string>& names, v1::FleetMap& out) {
    FleetMap map;
    map.kinds.emplace_back();
    map.areas = {{"product", "", 0, static_cast<std::uint32_t>(names.size())}};
    for (const std::string& name : names) map.nodes.push_back({name});
    api::put(map, "east", &out);
    v1::FleetMap sent;
    EXPECT_TRUE(sent.ParseFromString(out.SerializeAsString()));
    const Result<MapView> view = read_map(sent);
    ASSERT_TRUE(view.ok()) << view.error().message();
    std::vector<std::string> read;
    for (const MapNode& node : view->nodes) read.push_back(node.name);
    EXPECT_EQ(read, names);
  };
  v1::FleetMap out;
  names_of({"node-1", "node-12", "n\xC3\xA4", "n\xC3\xA5"}, out);
  EXPECT_EQ(std::vector<int>(out.name_keeps().begin(), out.name_keeps().end()),
            (std::vector<int>{0, 6, 1, 1}));
  EXPECT_EQ(out.name_end(), "");
  out.Clear();
  names_of({"a-1.x", "a-2.x", "a-22.x"}, out);
  EXPECT_EQ(out.name_end(), ".x");
  EXPECT_EQ(out.name_rests(2), "2");
  out.Clear();
  names_of({"\xC3\xA4.x", "\xC4\xA4.x", ".x"}, out);
  EXPECT_EQ(out.name_end(), ".x");
  out.Clear();
  names_of({"only"}, out);
  EXPECT_EQ(out.name_end(), "");
  out.Clear();
  names_of({"x", "ax"}, out);
  EXPECT_EQ(out.name_end(), "x");
}

TEST(MapReader, NamesTheColumnThatContradictsTheOthers) {
  v1::FleetMap map;
  map.add_areas()->set_nodes(1);
  map.add_kinds()->set_uncut_gpus(2);
  map.add_name_keeps(0);
  map.add_name_rests("n0");
  map.add_node_kinds(0);
  map.add_node_conditions(0);
  const auto column = [](const v1::FleetMap& damaged) { return read_map(damaged).error().field; };
  EXPECT_EQ(column(map), "runs");
  map.add_runs(2 * 16 + v1::GPU_STATE_RUNNING);
  EXPECT_EQ(column(map), "run_jobs");
  map.add_run_jobs(0);
  EXPECT_EQ(column(map), "run_jobs");
  map.add_job_numbers(4);
  EXPECT_TRUE(read_map(map).ok());
  v1::FleetMap damaged = map;
  damaged.add_runs(16 + v1::GPU_STATE_FREE);
  EXPECT_EQ(column(damaged), "runs");
  damaged = map;
  damaged.set_name_keeps(0, 1);
  EXPECT_EQ(column(damaged), "name_keeps");
  damaged = map;
  damaged.set_node_conditions(0, 5);
  EXPECT_EQ(column(damaged), "node_conditions");
  damaged = map;
  damaged.mutable_kinds(0)->set_uncut_gpus(-1);
  EXPECT_EQ(column(damaged), "kinds");
}

}  // namespace
}  // namespace subak::cli

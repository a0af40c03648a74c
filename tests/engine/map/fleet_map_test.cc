// The map of the fleet, against the levels of its nodes and against the rows of jobs.
#include "engine/answers/fleet_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/map/map_areas.h"
#include "model/mig.h"
#include "tests/engine/inputs.h"
#include "tests/oracle/random_world.h"

namespace subak {
namespace {

constexpr std::size_t kStates = EnumText<CellState>::names.size();

// The amounts of one node by state, and its cells as parts.
struct NodeSums {
  std::array<MilliGpu, kStates> of{};
  MilliGpu excess = 0;
  std::map<JobId, MilliGpu> held;
  std::vector<FleetMap::Part> cells;  // a divided cell: its first part
  MilliGpu sum(std::initializer_list<CellState> states) const {
    MilliGpu out = 0;
    for (const CellState state : states) out += of[static_cast<std::size_t>(state)];
    return out;
  }
};

bool is_held(CellState state) {
  return state == CellState::kRunning || state == CellState::kHeld || state == CellState::kForeign;
}

// Reads the runs cell by cell, as a reader of the map does.
class Sums {
 public:
  explicit Sums(const FleetMap& map) : map_(map) {
    for (const FleetMap::Node& node : map.nodes) {
      const FleetMap::NodeKind& kind = map.kinds.at(node.kind);
      NodeSums& sums = by_name[node.name];
      for (std::uint32_t i = 0; i < kind.layout.gpus; ++i) cell(kind.layout.gpu_milligpu, sums);
      for (const CellLayout::Slices& s : kind.layout.slices) {
        for (std::uint32_t i = 0; i < s.count; ++i) cell(s.milligpu, sums);
      }
    }
    EXPECT_EQ(run_, map.runs.size());
    EXPECT_EQ(part_, map.parts.size());
    for (const FleetMap::Excess& excess : map.excess) {
      NodeSums& sums = by_name.at(map.nodes.at(excess.node).name);
      EXPECT_TRUE(is_held(excess.part.state));
      sums.excess += excess.part.milligpu;
      sums.held[map.jobs.at(excess.part.job).id] += excess.part.milligpu;
    }
  }

  std::map<std::string, NodeSums> by_name;

 private:
  void add(const FleetMap::Part& part, NodeSums& sums) {
    sums.of[static_cast<std::size_t>(part.state)] += part.milligpu;
    const bool has_job = is_held(part.state) || part.state == CellState::kReserved;
    ASSERT_EQ(has_job, part.job != FleetMap::kNoJob);
    if (is_held(part.state)) sums.held[map_.jobs.at(part.job).id] += part.milligpu;
  }
  void cell(MilliGpu amount, NodeSums& sums) {
    ASSERT_LT(run_, map_.runs.size());
    const FleetMap::Run& run = map_.runs[run_];
    sums.cells.push_back({run.state, run.job, amount});
    if (run.parts == 0) {
      add({run.state, run.job, amount}, sums);
    } else {
      EXPECT_EQ(run.cells, 1u);
      EXPECT_GT(run.parts, 1u);
      MilliGpu all = 0;
      for (std::uint32_t i = 0; i < run.parts; ++i, ++part_) {
        EXPECT_GT(map_.parts.at(part_).milligpu, 0);
        all += map_.parts.at(part_).milligpu;
        add(map_.parts.at(part_), sums);
      }
      EXPECT_EQ(all, amount);
    }
    if (++in_run_ < run.cells) return;
    in_run_ = 0;
    ++run_;
  }

  const FleetMap& map_;
  std::size_t run_ = 0, part_ = 0;
  std::uint32_t in_run_ = 0;
};

// Compares the map of each cluster with the nodes' levels and with the pods of the jobs.
void expect_right(const Engine& engine, std::array<std::size_t, kStates>& seen) {
  const std::shared_ptr<const View> view = engine.view();
  for (const ClusterView& cluster : *view->clusters) {
    const FleetMap map = engine.fleet_map(cluster.id);
    const Sums sums(map);
    std::map<std::string, std::map<JobId, MilliGpu>> held;
    for (const OpenUsage& usage : engine.open_usage()) {
      const NodeSpec* const node = engine.fleet().node(usage.node);
      if (node == nullptr || engine.fleet().cluster_of(usage.node) != cluster.id) continue;
      held[node->name][usage.job] += usage.milligpu;
    }
    std::vector<std::string> names;
    for (const NodeId id : engine.fleet().nodes(cluster.id)) {
      const NodeSpec& spec = *engine.fleet().node(id);
      const NodeSums& node = sums.by_name.at(spec.name);
      const NodeLevels levels = engine.fleet().levels(id);
      SCOPED_TRACE(spec.name);
      EXPECT_EQ(
          node.sum({CellState::kRunning, CellState::kHeld, CellState::kForeign}) + node.excess,
          levels.allocated);
      EXPECT_EQ(node.sum({CellState::kFree, CellState::kReserved, CellState::kKept}), levels.idle);
      EXPECT_EQ(node.sum({CellState::kDrained, CellState::kUnfit}), levels.unusable);
      EXPECT_EQ(node.excess, levels.overcommitted);
      EXPECT_EQ(node.held, held[spec.name]);
      for (const FleetMap::Part& cell : node.cells) ++seen[static_cast<std::size_t>(cell.state)];
      names.push_back(spec.name);
    }
    EXPECT_EQ(map.nodes.size(), names.size());
    std::uint32_t in_areas = 0;
    for (std::size_t i = 0; i < map.areas.size(); ++i) {
      in_areas += map.areas[i].nodes;
      EXPECT_LE(map.areas[i].parent, i);
    }
    EXPECT_EQ(in_areas, map.nodes.size());
    for (const FleetMap::Job& job : map.jobs) {
      const JobRow row = *engine.job(job.id, false);
      EXPECT_EQ(map.owners.at(job.owner).account, row.account);
      EXPECT_EQ(map.owners.at(job.owner).user, row.user);
      EXPECT_EQ(job.end_ms, row.planned_end_ms);
    }
  }
}

std::string described(const FleetMap& map) {
  std::string out;
  for (const FleetMap::Area& area : map.areas)
    out += area.kind + " " + area.name + " " + std::to_string(area.nodes) + "\n";
  for (const FleetMap::Node& node : map.nodes) out += node.name + "\n";
  for (const FleetMap::Run& run : map.runs)
    out += std::string(enum_name(run.state)) + " " + std::to_string(run.cells) + " " +
           std::to_string(run.job) + "\n";
  for (const FleetMap::Part& part : map.parts)
    out += std::string(enum_name(part.state)) + " " + std::to_string(part.milligpu) + "\n";
  return out;
}

TEST(FleetMap, AddsUpToTheLevelsOfNodesInRandomWorlds) {
  std::array<std::size_t, kStates> seen{};
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    SCOPED_TRACE(seed);
    Engine engine, follower;
    sim::RandomWorld world(sim::RandomWorld::Options{seed});
    for (int step = 0; step < 800; ++step) {
      const Input input = world.next(engine.next_deadline());
      const ApplyOutcome outcome = engine.apply(input);
      world.saw(input, outcome);
      for (const Fact& fact : outcome.facts) follower.evolve(fact);
      if (step % 20 == 19) expect_right(engine, seen);
      if (testing::Test::HasFailure()) return;
    }
    // An engine from a checkpoint has the same holds in another order.
    Engine restored;
    for (const Fact& fact : engine.checkpoint()) restored.evolve(fact);
    const std::shared_ptr<const View> view = engine.view();
    for (const ClusterView& cluster : *view->clusters) {
      const std::string map = described(engine.fleet_map(cluster.id));
      EXPECT_EQ(described(follower.fleet_map(cluster.id)), map);
      EXPECT_EQ(described(restored.fleet_map(cluster.id)), map);
    }
  }
  for (std::size_t i = 0; i < kStates; ++i)
    EXPECT_GT(seen[i], 0u) << enum_name(static_cast<CellState>(i));
}

class Map : public testing::Test {
 protected:
  void SetUp() override {
    send(main_cluster());
    for (const char* path : {"ml", "bio"}) {
      in::SetAccount set;
      set.spec.path = path;
      send(set);
    }
  }
  Reply send(in::Body body) {
    const Reply reply = engine.apply(at(now, std::move(body))).reply;
    EXPECT_FALSE(reply.error) << reply.error->message();
    return reply;
  }
  void pass() {
    while (engine.pass_due()) send(in::Pass{});
  }
  void import(std::vector<NodeSpec> nodes) {
    in::ImportNodes all;
    all.cluster = "main";
    all.nodes = std::move(nodes);
    send(all);
  }
  JobId submit(std::uint32_t pods, const PodShape& shape, DurationMs limit_ms = 0) {
    in::SubmitJob job = job_of_pods("ml", pods, 1);
    job.request.groups[0].shape = shape;
    job.user = "ana";
    job.time_limit_ms = limit_ms;
    const JobId id = send(job).job;
    pass();
    return id;
  }
  void bind(JobId job, std::uint32_t rank) {
    const JobRow row = *engine.job(job, true);
    in::PodBound bound;
    bound.cluster = "main";
    bound.pod = {"", job, rank};
    bound.node = engine.fleet().node(row.pods[rank].slot.node)->name;
    send(bound);
  }
  FleetMap map() const { return engine.fleet_map(engine.find_cluster("main")); }
  // The states of a node's cells: "running running free".
  std::string cells(const std::string& node) const {
    const FleetMap all = map();
    const Sums sums(all);
    std::string out;
    for (const FleetMap::Part& cell : sums.by_name.at(node).cells)
      out += (out.empty() ? "" : " ") + std::string(enum_name(cell.state));
    return out;
  }
  static PodShape shape(GpuKind kind, std::int64_t gpus) {
    PodShape out;
    out.kind = kind;
    out.gpus = gpus;
    return out;
  }
  static NodeSpec node(const std::string& name, std::int64_t gpus) {
    NodeSpec out;
    out.name = name;
    out.product = "NVIDIA-H100-80GB-HBM3";
    out.gpus = gpus;
    return out;
  }

  Engine engine;
  TimeMs now = kDayMs;
};

TEST_F(Map, TellsHeldFromRunningAndNamesTheJob) {
  import({node("n0", 4)});
  const JobId job = submit(2, shape(GpuKind::kWhole, 1), kHourMs);
  EXPECT_EQ(cells("n0"), "held held free free");
  bind(job, 0);
  EXPECT_EQ(cells("n0"), "running held free free");
  const FleetMap all = map();
  ASSERT_EQ(all.jobs.size(), 1u);
  EXPECT_EQ(all.jobs[0].id, job);
  EXPECT_EQ(all.owners[all.jobs[0].owner].account, "ml");
  EXPECT_EQ(all.owners[all.jobs[0].owner].user, "ana");
  EXPECT_EQ(all.jobs[0].end_ms, now + kHourMs);
  EXPECT_EQ(all.time_ms, now);
}

TEST_F(Map, DividesAGpuThatSeveralJobsShare) {
  import({node("n0", 2)});
  PodShape part = shape(GpuKind::kFraction, 0);
  part.milligpu = 250;
  const JobId first = submit(1, part), second = submit(1, part);
  const FleetMap all = map();
  ASSERT_EQ(all.runs.size(), 2u);
  const auto divided = std::find_if(all.runs.begin(), all.runs.end(),
                                    [](const FleetMap::Run& run) { return run.parts > 0; });
  ASSERT_NE(divided, all.runs.end());
  ASSERT_EQ(all.parts.size(), 3u);
  EXPECT_EQ(all.parts[0], (FleetMap::Part{CellState::kHeld, 0, 250}));
  EXPECT_EQ(all.parts[1], (FleetMap::Part{CellState::kHeld, 1, 250}));
  EXPECT_EQ(all.parts[2], (FleetMap::Part{CellState::kFree, FleetMap::kNoJob, 500}));
  EXPECT_EQ(all.jobs[0].id, first);
  EXPECT_EQ(all.jobs[1].id, second);
}

TEST_F(Map, ShowsEachSliceAsACell) {
  NodeSpec cut = node("n0", 2);
  cut.mig_gpus = 1;
  cut.mig = {{"1g.10gb", 2}, {"2g.20gb", 1}};
  import({cut});
  PodShape slices = shape(GpuKind::kMig, 1);
  slices.profile = "2g.20gb";
  submit(1, slices);
  EXPECT_EQ(cells("n0"), "free free free held");
  const FleetMap all = map();
  ASSERT_EQ(all.kinds.size(), 1u);
  EXPECT_EQ(all.kinds[0].gpus, 2u);
  EXPECT_EQ(all.kinds[0].layout.gpus, 1u);
  ASSERT_EQ(all.kinds[0].layout.slices.size(), 2u);
  EXPECT_EQ(all.kinds[0].layout.slices[0].count, 2u);
  EXPECT_EQ(all.kinds[0].layout.slices[0].milligpu,
            *mig_slice_milligpu(cut.product, cut.mig[0].profile));
}

TEST_F(Map, TellsWhyGpusAreNotFree) {
  NodeSpec ill = node("ill", 4), away = node("away", 2), drained = node("drained", 2);
  ill.unhealthy_gpus = 1;
  away.ready = false;
  import({ill, away, drained});
  in::DrainNode drain;
  drain.cluster = "main";
  drain.node = "drained";
  drain.drained = true;
  drain.until_ms = now + kHourMs;
  send(drain);
  EXPECT_EQ(cells("ill"), "free free free unfit");
  EXPECT_EQ(cells("away"), "unfit unfit");
  EXPECT_EQ(cells("drained"), "drained drained");
  const FleetMap all = map();
  std::map<std::string, std::string> why;
  for (const FleetMap::Node& n : all.nodes)
    why[n.name] = n.condition == 0 ? "" : all.conditions[n.condition - 1].text;
  EXPECT_EQ(why["ill"], "");
  EXPECT_EQ(why["away"], "not ready");
  EXPECT_EQ(why["drained"], "drained");
  ASSERT_EQ(all.drains.size(), 1u);
  EXPECT_EQ(all.nodes[all.drains[0].node].name, "drained");
  EXPECT_EQ(all.drains[0].from_ms, 0);
  EXPECT_EQ(all.drains[0].until_ms, now + kHourMs);
}

TEST_F(Map, NestsTheAreasAndSortsNumbersByValue) {
  std::vector<NodeSpec> nodes;
  for (const int i : {10, 9, 1}) {
    nodes.push_back(node("n" + std::to_string(i), 1));
    nodes.back().set_levels({i == 1 ? "rack-2" : "rack-10", "block-1"});
    nodes.back().clique = i == 9 ? "domain.1" : "";
  }
  import(nodes);
  const FleetMap all = map();
  std::string areas, names;
  for (const FleetMap::Area& area : all.areas)
    areas += area.kind + " " + area.name + " in " + std::to_string(area.parent) + ": " +
             std::to_string(area.nodes) + "\n";
  for (const FleetMap::Node& n : all.nodes) names += n.name + " ";
  EXPECT_EQ(areas,
            "product NVIDIA-H100-80GB-HBM3 in 0: 0\n"
            "block block-1 in 0: 0\n"
            "rack rack-2 in 1: 1\n"
            "rack rack-10 in 1: 1\n"
            "domain domain.1 in 3: 1\n");
  EXPECT_EQ(names, "n1 n10 n9 ");
}

TEST(NaturalOrder, NumbersCompareByTheirValue) {
  using derive::natural_order;
  // Each group comes before the next one. The names of a group are equal.
  const std::vector<std::vector<std::string>> groups = {
      {"", ""}, {"0", "00"},       {"9", "09"}, {"10"},   {"a"},     {"a-9"},
      {"a-9b"}, {"a-10", "a-010"}, {"a-10-2"},  {"a-11"}, {"a-11b"}, {"a-100000000000000000000"},
      {"a-ip"}, {"a2b", "a02b"},   {"a2c"},     {"b"},    {"b1c9"},  {"b1c10", "b01c010"},
  };
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (std::size_t j = 0; j < groups.size(); ++j) {
      for (const std::string& a : groups[i]) {
        for (const std::string& b : groups[j])
          EXPECT_EQ(natural_order(a, b), i <=> j) << a << " and " << b;
      }
    }
  }
}

}  // namespace
}  // namespace subak

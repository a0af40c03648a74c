// What the map of a fleet of 12,500 nodes with 8 GPUs costs the service: the time of the follower, from the state to
// the bytes of the message, and the size of the message. gRPC's own part is not in it.
//
// The fleet is full, and some of its jobs are held, some run. The rows are of a mix of jobs: half of the GPUs belong
// to gangs of whole nodes, the others to jobs of 1 to 7 GPUs. What it is with a job for each GPU goes to stderr.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "server/api/convert/fleet_map.h"
#include "tests/bench/row.h"

namespace subak {
namespace {

constexpr int kNodes = 12'500, kNodeGpus = 8;
constexpr int kRackNodes = 16, kBlockNodes = 256;
constexpr int kTeams = 100, kProjects = 10, kUsers = 10;
constexpr int kCalls = 20;

class World {
 public:
  World() {
    fleet();
    accounts();
  }
  const Engine& engine() const { return engine_; }
  // Fills the fleet with gangs of whole nodes up to `whole` GPUs, and then with jobs of `least` to `most` GPUs.
  void fill(int whole, int least, int most);

 private:
  ApplyOutcome apply(in::Body body);
  void fleet();
  void accounts();
  void submit(std::uint32_t pods, std::int64_t gpus);
  void pass();

  Engine engine_;
  TimeMs now_ = 1'700'000'000'000;
  std::mt19937_64 random_{5};
  std::vector<std::string> projects_;
};

ApplyOutcome World::apply(in::Body body) {
  ApplyOutcome outcome = engine_.apply({now_, "", "bench", std::move(body)});
  if (outcome.reply.error) {
    std::fprintf(stderr, "refused: %s\n", outcome.reply.error->message().c_str());
    std::exit(1);
  }
  return outcome;
}

void World::fleet() {
  in::SetCluster cluster;
  cluster.name = "c";
  cluster.mode = Mode::kEnforce;
  cluster.reason = "bench";
  apply(cluster);
  in::ImportNodes import;
  import.cluster = "c";
  import.reason = "bench";
  for (int i = 0; i < kNodes; ++i) {
    NodeSpec node;
    // As EC2 names nodes.
    node.name = "ip-10-" + std::to_string(i / 65536) + "-" + std::to_string(i / 256 % 256) + "-" +
                std::to_string(i % 256) + ".us-west-2.compute.internal";
    node.product = "NVIDIA-H100-80GB-HBM3";
    node.gpus = kNodeGpus;
    node.set_levels(
        {"rack-" + std::to_string(i / kRackNodes), "block-" + std::to_string(i / kBlockNodes)});
    if (i % 100 == 7) node.unhealthy_gpus = 1;
    if (i % 500 == 9) node.unfit = "nvidia.com/mig.config.state is pending";
    import.nodes.push_back(node);
  }
  apply(import);
}

void World::accounts() {
  in::SetAccount set;
  set.spec.shares = 1;
  set.reason = "bench";
  for (int t = 0; t < kTeams; ++t) {
    set.spec.path = "team" + std::to_string(t);
    apply(set);
    for (int p = 0; p < kProjects; ++p) {
      set.spec.path = "team" + std::to_string(t) + ".project" + std::to_string(p);
      apply(set);
      projects_.push_back(set.spec.path);
    }
  }
}

void World::submit(std::uint32_t pods, std::int64_t gpus) {
  in::SubmitJob job;
  job.cluster = "c";
  job.account = projects_[random_() % projects_.size()];
  job.user = "user" + std::to_string(random_() % kUsers);
  job.name = "train";
  job.time_limit_ms = kHourMs * static_cast<DurationMs>(1 + random_() % 72);
  job.request.groups.emplace_back();
  job.request.groups[0].count = pods;
  job.request.groups[0].shape.kind = GpuKind::kWhole;
  job.request.groups[0].shape.gpus = gpus;
  apply(job);
}

// Nine of ten pods that it starts are bound at once.
void World::pass() {
  while (engine_.pass_due()) {
    for (const Effect& effect : apply(in::Pass{}).effects) {
      if (effect.kind != EffectKind::kOpenGate) continue;
      for (const EffectPod& pod : effect.pods) {
        if (random_() % 10 == 0) continue;
        const PodRef ref{.uid = {}, .job = effect.job, .rank = pod.rank, .attempt = 0};
        apply(in::PodBound{.cluster = "c", .pod = ref, .node = pod.node, .at_ms = 0});
      }
    }
    now_ += 1;
  }
}

void World::fill(int whole, int least, int most) {
  while (whole > 0) {
    const auto pods = static_cast<std::uint32_t>(1 + random_() % 16);
    submit(pods, kNodeGpus);
    whole -= static_cast<int>(pods) * kNodeGpus;
  }
  pass();
  // More than fits, so that the fleet is full.
  for (int left = kNodes * kNodeGpus * 11 / 10; left > 0;) {
    const auto gpus =
        least + static_cast<int>(random_() % static_cast<std::uint64_t>(most - least + 1));
    submit(1, gpus);
    left -= gpus;
  }
  pass();
}

struct Cost {
  double ms = 0;
  std::size_t bytes = 0, runs = 0, jobs = 0;
};

// The median of many calls, as server/api makes them.
Cost cost_of(const Engine& engine) {
  Cost out;
  std::vector<double> ms;
  for (int i = 0; i < kCalls; ++i) {
    const bench::Stopwatch watch;
    v1::FleetMap map;
    if (const auto error = api::put_fleet_map(engine, v1::GetFleetMapRequest(), &map)) {
      std::fprintf(stderr, "refused: %s\n", error->message().c_str());
      std::exit(1);
    }
    out.bytes = map.SerializeAsString().size();
    ms.push_back(watch.ns() / 1e6);
    out.runs = static_cast<std::size_t>(map.runs_size());
    out.jobs = static_cast<std::size_t>(map.job_numbers_size());
  }
  std::nth_element(ms.begin(), ms.begin() + kCalls / 2, ms.end());
  out.ms = ms[kCalls / 2];
  return out;
}

void say(const char* what, const Cost& cost) {
  std::fprintf(stderr, "fleet map, %s: %zu jobs, %zu runs: %.1f ms, %zu bytes\n", what, cost.jobs,
               cost.runs, cost.ms, cost.bytes);
}

}  // namespace
}  // namespace subak

int main() {
  using namespace subak;
  {
    World world;
    world.fill(kNodes * kNodeGpus / 2, 1, 7);
    const Cost cost = cost_of(world.engine());
    say("a mix of jobs", cost);
    bench::row("fleet_map_ms", cost.ms, "ms");
    bench::row("fleet_map_bytes", static_cast<double>(cost.bytes), "bytes");
  }
  World world;
  world.fill(0, 1, 1);
  say("a job for each GPU", cost_of(world.engine()));
}

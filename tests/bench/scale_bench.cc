// A part of a hundred clusters with a million GPUs and ten million queued jobs: what a node and a job take, how long a
// checkpoint, a cold start, a View and a cluster's list take. docs/design/0069 computes the whole from two of these.
//   bench_scale PERCENT      1 to 100; beyond 9 limits::kMaxQueuedJobs refuses jobs, unless it is raised
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "core/limits.h"
#include "engine/engine.h"
#include "row.h"
#include "server/codec/codec.h"
#include "server/codec/packed_facts.h"

namespace subak {
namespace {

constexpr int kNodes = 1250, kGpus = 8;  // of a cluster
constexpr int kQueued = 100'000;         // for a cluster
constexpr int kAccounts = 1000;
constexpr std::uint32_t kGang = 5;  // nodes of a job that runs

class World {
 public:
  ApplyOutcome apply(in::Body body, bool named = false) {
    Input input;
    input.time_ms = ++now_;
    input.actor = "bench";
    if (named)
      input.request_id = "00000000-0000-4000-8000-" + std::to_string(100'000'000'000 + now_);
    input.body = std::move(body);
    ApplyOutcome outcome = engine_.apply(input);
    if (!outcome.reply.error) return outcome;
    std::fprintf(stderr, "bench_scale: %s\n", outcome.reply.error->message().c_str());
    std::exit(1);
  }
  in::ImportNodes fleet_of(const std::string& cluster) const {
    in::ImportNodes import;
    import.cluster = cluster;
    import.reason = "bench";
    for (int i = 0; i < kNodes; ++i) {
      NodeSpec node;
      node.name = "node-" + std::to_string(i);
      node.product = "NVIDIA-H100-80GB-HBM3";
      node.gpus = kGpus;
      import.nodes.push_back(node);
    }
    return import;
  }
  void add_cluster(const std::string& name) {
    in::SetCluster cluster;
    cluster.name = name;
    cluster.mode = Mode::kEnforce;
    cluster.reason = "bench";
    apply(cluster);
    apply(fleet_of(name));
  }
  void add_account(const std::string& path) {
    in::SetAccount set;
    set.spec.path = path;
    set.spec.shares = 1;
    set.reason = "bench";
    apply(set);
  }
  void submit(const std::string& cluster, int number, std::uint32_t pods) {
    in::SubmitJob job;
    job.cluster = cluster;
    job.account = "a" + std::to_string(number % kAccounts);
    job.user = "u";
    job.name = "train";
    job.time_limit_ms = kHourMs;
    job.request.groups.emplace_back();
    job.request.groups[0].count = pods;
    job.request.groups[0].shape.kind = GpuKind::kWhole;
    job.request.groups[0].shape.gpus = kGpus;
    apply(job, true);
  }
  // All that starts is bound.
  void start_all(const std::string& cluster) {
    do {
      for (const Effect& effect : apply(in::Pass{}).effects) {
        for (const EffectPod& pod : effect.pods) {
          apply(in::PodBound{cluster, PodRef{"", effect.job, pod.rank, 0}, pod.node, 0});
        }
      }
    } while (engine_.pass_due());
  }
  const Engine& engine() const { return engine_; }

 private:
  Engine engine_;
  TimeMs now_ = 1'800'000'000'000;
};

double since(std::size_t before) { return static_cast<double>(bench::heap_bytes() - before); }

int run(int percent) {
  World world;
  for (int a = 0; a < kAccounts; ++a) world.add_account("a" + std::to_string(a));
  std::size_t before = bench::heap_bytes();
  const double nodes = percent * kNodes, jobs = static_cast<double>(percent) * kQueued;
  for (int c = 0; c < percent; ++c) world.add_cluster("c" + std::to_string(c));
  bench::row("scale_node_bytes", since(before) / nodes, "bytes");

  before = bench::heap_bytes();
  for (int c = 0; c < percent; ++c) {
    const std::string cluster = "c" + std::to_string(c);
    for (int i = 0; i < kNodes / static_cast<int>(kGang); ++i) world.submit(cluster, i, kGang);
    world.start_all(cluster);
  }
  bench::row("scale_running_pod_bytes", since(before) / nodes, "bytes");

  before = bench::heap_bytes();
  for (int c = 0; c < percent; ++c) {
    const std::string cluster = "c" + std::to_string(c);
    for (int i = 0; i < kQueued; ++i)
      world.submit(cluster, i, 1 + static_cast<std::uint32_t>(i) % 20);
  }
  world.start_all("c0");
  bench::row("scale_job_bytes", since(before) / jobs, "bytes");

  const bench::Stopwatch viewing;
  constexpr int kViews = 100;
  for (int i = 0; i < kViews; ++i) {
    world.submit("c0", i, 1);  // so that there is something new to show
    bench::keep(world.engine().view()->seq);
  }
  bench::row("scale_view_us", viewing.ns() / kViews / 1000, "us");

  const bench::Stopwatch relisting;
  world.apply(world.fleet_of("c0"));
  bench::row("scale_fleet_again_ms", relisting.ns() / 1e6, "ms");

  PackedFacts kept;
  bool whole = true;
  const bench::Stopwatch packing;
  world.engine().checkpoint([&](const Fact& fact) { whole = kept.add(fact) && whole; });
  bench::row("scale_checkpoint_s", packing.ns() / 1e9, "s");
  std::size_t bytes = 0;
  PackedFacts::Cursor cursor(kept);
  for (PackedFacts::Row packed; cursor.next(packed);) bytes += packed.body.size();
  bench::row("scale_checkpoint_mb", static_cast<double>(bytes) / 1e6, "MB");

  const bench::Stopwatch starting;  // as if what is kept had come from the store
  Engine again;
  PackedFacts::Cursor reader(kept);
  for (PackedFacts::Row packed; reader.next(packed);) {
    auto body = codec::decode(packed.kind, packed.body);
    if (!body) return std::fprintf(stderr, "bench_scale: a fact cannot be read\n"), 1;
    again.evolve({0, packed.time_ms, *std::move(body)});
  }
  bench::row("scale_start_s", starting.ns() / 1e9, "s");
  std::fprintf(stderr, "%d clusters, %.0f nodes, %zu queued, %zu facts in the checkpoint%s\n",
               percent, nodes, again.count(JobState::kQueued), kept.size(),
               whole ? "" : ", not whole");
  return 0;
}

}  // namespace
}  // namespace subak

int main(int argc, char** argv) {
  const int percent = argc == 2 ? std::atoi(argv[1]) : 0;
  if (percent >= 1 && percent <= 100) return subak::run(percent);
  std::fprintf(stderr, "usage: bench_scale PERCENT (1 to 100)\n");
  return 2;
}

// The whole engine: what a queued job costs in memory, what a pass costs that finds nothing, and
// decisions a second beside Kueue's.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "row.h"

namespace subak {
namespace {

constexpr TimeMs kStart = 1'700'000'000'000;

struct World {
  Engine engine;
  TimeMs now = kStart;
  std::uint64_t requests = 0;

  ApplyOutcome apply(in::Body body, bool named = false) {
    Input input{.time_ms = now, .request_id = {}, .actor = "bench", .body = std::move(body)};
    // As long as a UUID, which is what clients send.
    if (named)
      input.request_id = "00000000-0000-4000-8000-" + std::to_string(100'000'000'000 + ++requests);
    ApplyOutcome outcome = engine.apply(input);
    if (outcome.reply.error) {
      std::fprintf(stderr, "refused: %s\n", outcome.reply.error->message().c_str());
      std::exit(1);
    }
    return outcome;
  }
  void fleet(int nodes, std::int64_t gpus) {
    in::SetCluster cluster;
    cluster.name = "c";
    cluster.mode = Mode::kEnforce;
    cluster.reason = "bench";
    apply(cluster);
    in::ImportNodes import;
    import.cluster = "c";
    import.reason = "bench";
    for (int i = 0; i < nodes; ++i) {
      NodeSpec node;
      node.name = "node-" + std::to_string(i);
      node.product = "NVIDIA-H100-80GB-HBM3";
      node.gpus = gpus;
      import.nodes.push_back(node);
    }
    apply(import);
  }
  void account(const std::string& path, ProductAmounts quota = {}, const char* lend = "",
               const char* budgets = "") {
    in::SetAccount set;
    set.spec.path = path;
    set.spec.shares = 1;
    set.spec.quota = std::move(quota);
    set.spec.lend = lend;
    set.spec.budgets = budgets;
    set.reason = "bench";
    apply(set);
  }
  // 694 cliques of 18 nodes with 4 GPUs.
  void cliques() {
    in::SetCluster cluster;
    cluster.name = "c";
    cluster.mode = Mode::kEnforce;
    cluster.reason = "bench";
    apply(cluster);
    in::ImportNodes import;
    import.cluster = "c";
    import.reason = "bench";
    for (int i = 0; i < kCliques * kNodesOfClique; ++i) {
      NodeSpec node;
      node.name = "node-" + std::to_string(i);
      node.product = "NVIDIA-GB200";
      node.gpus = 4;
      node.clique = "clique-" + std::to_string(i / kNodesOfClique);
      import.nodes.push_back(node);
    }
    apply(import);
  }
  static constexpr int kCliques = 694, kNodesOfClique = 18;
  JobId submit(const std::string& account, std::uint32_t pods, std::int64_t gpus,
               DurationMs limit = kHourMs, Topology topology = Topology::kAny) {
    in::SubmitJob job;
    job.cluster = "c";
    job.account = account;
    job.user = "u";
    job.name = "train";
    job.time_limit_ms = limit;
    job.request.groups.emplace_back();
    job.request.groups[0].count = pods;
    job.request.groups[0].shape.kind = GpuKind::kWhole;
    job.request.groups[0].shape.gpus = gpus;
    job.request.terms.topology = topology;
    return apply(job, true).reply.job;
  }
  // Everything that a pass started is bound and running.
  std::vector<JobId> run(const std::vector<Effect>& effects) {
    std::vector<JobId> started;
    for (const Effect& effect : effects) {
      if (effect.kind != EffectKind::kOpenGate) continue;
      started.push_back(effect.job);
      for (const EffectPod& pod : effect.pods) {
        const PodRef ref{.uid = {}, .job = effect.job, .rank = pod.rank, .attempt = 0};
        apply(in::PodBound{.cluster = "c", .pod = ref, .node = pod.node, .at_ms = 0});
      }
    }
    return started;
  }
  void end(JobId job) {
    apply(in::PodGone{.cluster = "c",
                      .pod = {.uid = {}, .job = job, .rank = 0, .attempt = 0},
                      .ended_at_ms = 0,
                      .cause = Cause::kFinished});
  }
};

// 100 shapes, each in every account: 2 to 21 pods of 2, 3, 4, 6 or 8 GPUs.
void submit_many(World& world, std::size_t count, const std::vector<std::string>& accounts) {
  constexpr std::array<std::int64_t, 5> kGpus{2, 3, 4, 6, 8};
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t shape = i + i / accounts.size();
    world.now += 1;
    world.submit(accounts[i % accounts.size()], static_cast<std::uint32_t>(2 + shape % 20),
                 kGpus[shape / 20 % kGpus.size()], kHourMs * (1 + i / 100 % 8));
  }
}

// Ends a job, and returns the microseconds of the pass after it, which may start no job.
double pass_after_end(World& world, JobId ended, const char* if_one_starts) {
  world.now += 50;
  world.end(ended);
  const bench::Stopwatch pass;
  const auto outcome = world.apply(in::Pass{});
  const double us = pass.ns() / 1000;
  if (outcome.effects.empty()) return us;
  std::fprintf(stderr, "%s\n", if_one_starts);
  std::exit(1);
}

// `kept`: for so many jobs nodes are kept.
void queue_of_a_million(std::uint32_t kept) {
  World world;
  world.fleet(100, 8);
  in::SetPolicy set;
  set.policy.queue.reserve_jobs = kept;
  set.policy.patience_ms = 1;
  world.apply(set);
  std::vector<std::string> accounts;
  for (int a = 0; a < 100; ++a) {
    world.account("a" + std::to_string(a));
    for (int b = 0; b < 10; ++b) {
      accounts.push_back("a" + std::to_string(a) + ".b" + std::to_string(b));
      world.account(accounts.back());
    }
  }
  std::vector<JobId> running;  // one-GPU jobs fill the fleet
  for (int i = 0; i < 800; ++i) world.submit(accounts.front(), 1, 1);
  running = world.run(world.apply(in::Pass{}).effects);
  const std::size_t before = bench::heap_bytes();
  const bench::Stopwatch adding;
  // A thousand below the limit, for the jobs that come and go.
  constexpr std::size_t kJobs = 999'000;
  submit_many(world, kJobs, accounts);
  std::fprintf(stderr, "submit: %.0f ns each; %zu running, %zu queued\n",
               adding.ns() / static_cast<double>(kJobs), running.size(),
               world.engine.count(JobState::kQueued));
  if (kept == 0) {
    bench::row("job_bytes",
               static_cast<double>(bench::heap_bytes() - before) / static_cast<double>(kJobs),
               "bytes", 400, bench::Better::kLess,
               "the goal; heap of one engine, name and request id included");
  }
  do {
    world.apply(in::Pass{});  // learns which shapes do not fit, and keeps nodes
  } while (world.engine.pass_due());
  std::size_t promised = 0;
  for (const JobRow& row : world.engine.jobs(JobId(), kJobs + 1000, JobState::kQueued, "")) {
    promised += row.start_ms != 0 ? 1 : 0;
  }
  std::vector<double> passes;
  for (std::size_t i = 0; i < 101; ++i) {
    passes.push_back(pass_after_end(
        world, running[i], "the freed GPU was used: the benchmark measures something else"));
    // Fill it again, so that one freed GPU is all there ever is.
    world.submit(accounts.front(), 1, 1, kept == 0 ? kHourMs : kMinuteMs);
    running.push_back(world.run(world.apply(in::Pass{}).effects).at(0));
  }
  std::sort(passes.begin(), passes.end());
  std::fprintf(stderr, "idle pass: median %.1f us, worst %.1f us; nodes kept for %zu\n", passes[50],
               passes.back(), promised);
  bench::row(kept == 0 ? "idle_pass_us" : "idle_pass_kept_us", passes.back(), "us");
}

// 100,000 jobs of 100 accounts wait beside free GPUs, at a limit on jobs of the account above.
void line_at_a_limit() {
  World world;
  world.fleet(100, 8);
  world.account("other");
  in::SetAccount site;
  site.spec.path = "site";
  site.spec.job_limits = "jobs=20";
  site.reason = "bench";
  world.apply(site);
  std::vector<std::string> teams;
  for (int t = 0; t < 100; ++t) {
    teams.push_back("site.t" + std::to_string(t));
    world.account(teams.back());
  }
  for (int i = 0; i < 101; ++i) world.submit("other", 1, 1);
  const std::vector<JobId> running = world.run(world.apply(in::Pass{}).effects);
  submit_many(world, 100'000, teams);
  while (world.engine.pass_due()) world.run(world.apply(in::Pass{}).effects);
  std::vector<double> passes;
  for (std::size_t i = 0; i < 101; ++i) {
    passes.push_back(pass_after_end(world, running[i], "a job started beyond the limit"));
  }
  std::sort(passes.begin(), passes.end());
  std::fprintf(stderr, "pass at a limit: median %.1f us, worst %.1f us\n", passes[50],
               passes.back());
  bench::row("limited_pass_us", passes.back(), "us");
}

// `queues` accounts of `each` jobs of one GPU; all of them fit.
struct Drain {
  const char* name;
  int queues, each;
  // Each account has quota for 2 GPUs, every tenth by the product's name, and lends 1.
  bool quotas = false;
  // Each account and the root have a hard budget.
  bool budgets = false;
};

// Returns decisions per second of the passes alone; the whole life of each job goes to stderr.
double decisions_per_s(const Drain& drain) {
  World world;
  const int jobs = drain.queues * drain.each;
  world.fleet(jobs / 8 + 1, 8);
  const char* const budget = drain.budgets ? "9000h/month" : "";
  if (drain.budgets) world.account("", {}, "", budget);
  for (int q = 0; q < drain.queues; ++q) {
    const std::string product = q % 10 == 0 ? "NVIDIA-H100-80GB-HBM3" : kAnyProduct;
    ProductAmounts quota;
    if (drain.quotas) quota = {{product, 2 * kMilliPerGpu}};
    world.account("q" + std::to_string(q), std::move(quota), drain.quotas ? "1" : "", budget);
  }
  const bench::Stopwatch life;
  for (int i = 0; i < jobs; ++i) world.submit("q" + std::to_string(i % drain.queues), 1, 1);
  std::vector<JobId> started;
  double passes_ns = 0;
  while (static_cast<int>(started.size()) < jobs) {
    world.now += 1;
    const bench::Stopwatch watch;
    const auto outcome = world.apply(in::Pass{});
    passes_ns += watch.ns();
    const std::vector<JobId> now = world.run(outcome.effects);
    if (now.empty()) std::exit(1);
    started.insert(started.end(), now.begin(), now.end());
  }
  for (const JobId job : started) world.end(job);
  std::fprintf(stderr, "%s: submit, decide, bind and end: %.0f jobs/s\n", drain.name,
               jobs / (life.ns() * 1e-9));
  return jobs / (passes_ns * 1e-9);
}

// As in the measurement of Kueue that stands beside it.
void drain(const Drain& drain, double kueue_per_s) {
  bench::row(drain.name, decisions_per_s(drain), "decisions/s", kueue_per_s, bench::Better::kMore,
             "Kueue's own scheduler in process, measured on another 2-core machine");
}

// Quotas and a hard budget on every account, and beside it the same without budgets: the fastest of
// several runs in turn, since other programs only make a run slower.
void drain_with_budgets() {
  const Drain with{"drain_1000_fair_per_s", 1000, 4, true, true};
  const Drain without{"drain_1000 without budgets", 1000, 4, true, false};
  double most_with = 0, most_without = 0;
  for (int i = 0; i < 7; ++i) {
    most_without = std::max(most_without, decisions_per_s(without));
    most_with = std::max(most_with, decisions_per_s(with));
  }
  bench::row(with.name, most_with, "decisions/s", 1130, bench::Better::kMore,
             "Kueue's own scheduler in process, measured on another 2-core machine");
  bench::row("drain_1000_budgets_per_s", most_with, "decisions/s", most_without,
             bench::Better::kMore, "the same accounts without budgets, in turn in the same run");
}

// A full fleet of 8 GPUs a node, behind it four waiting jobs a node of 1 to 8 GPUs and 1 to 24 hours, and
// gangs that nodes are kept for: the start of each. What is made on the follower's thread, the copy, and
// what is made beside it.
void forecast(const char* name, int nodes, std::size_t gangs, double goal_s) {
  World world;
  world.fleet(nodes, 8);
  in::SetPolicy set;
  set.policy.patience_ms = kMinuteMs;
  set.policy.queue.reserve_jobs = static_cast<std::uint32_t>(gangs);
  world.apply(set);
  std::vector<std::string> accounts;
  for (int a = 0; a < 100; ++a) {
    accounts.push_back("a" + std::to_string(a));
    world.account(accounts.back());
  }
  std::uint64_t random = 42;
  const auto below = [&random](std::uint64_t n) {
    random = random * 6'364'136'223'846'793'005 + 1'442'695'040'888'963'407;
    return (random >> 33) % n;
  };
  const auto submit = [&] {
    world.submit(accounts[below(accounts.size())], 1, static_cast<std::int64_t>(1 + below(8)),
                 static_cast<DurationMs>(1 + below(24)) * kHourMs);
  };
  for (int i = 0; i < 3 * nodes; ++i) submit();
  do {
    world.run(world.apply(in::Pass{}).effects);
  } while (world.engine.pass_due());
  const auto wanted = static_cast<std::size_t>(4 * nodes);
  for (std::size_t i = 0; i < gangs; ++i) {
    world.submit(accounts[i], static_cast<std::uint32_t>(nodes / 100), 8, 24 * kHourMs);
  }
  while (world.engine.count(JobState::kQueued) < wanted) submit();
  world.now += 2 * kMinuteMs;
  do {
    world.run(world.apply(in::Pass{}).effects);
  } while (world.engine.pass_due());
  const bench::Stopwatch copying;
  const ForecastBasis basis = world.engine.forecast_basis(world.engine.now());
  const double copy_s = copying.ns() * 1e-9;
  const bench::Stopwatch ahead;
  const Forecast told = make_forecast(basis);
  const double ahead_s = ahead.ns() * 1e-9;
  PlanAsked asked;
  asked.rows = asked.columns = 48;
  asked.lanes = 3;
  asked.jobs = 20;
  const bench::Stopwatch planning;
  const std::size_t rows = world.engine.plan(asked, told, world.engine.now()).rows.size();
  const double plan_s = planning.ns() * 1e-9;
  std::fprintf(stderr,
               "%s: %zu waiting, %zu with a start; copy %.3f s, ahead %.3f s; the fleet by time in "
               "%zu rows %.3f s\n",
               name, world.engine.count(JobState::kQueued), told.starts().size(), copy_s, ahead_s,
               rows, plan_s);
  if (told.starts().size() != world.engine.count(JobState::kQueued)) std::exit(1);
  bench::row(name, copy_s + ahead_s, "s", goal_s, bench::Better::kLess,
             "the goal; the copy and the pass run ahead, on one core");
}

// --- claims --------------------------------------------------------------------------------------

// A full fleet of 694 cliques. In each clique, jobs of 50 accounts beyond their quota: gangs of 6
// and of 2 nodes, 8 jobs of a whole node, and 4 jobs that share 2 nodes. The account "own" has quota
// for 8,000 GPUs and uses none.
void fill_beyond_quota(World& world) {
  constexpr int kAccounts = 50;
  world.cliques();
  in::SetPolicy set;
  set.policy.reclaim = true;
  world.apply(set);
  world.account("own", {{kAnyProduct, 8'000 * kMilliPerGpu}});
  std::vector<std::string> accounts;
  for (int a = 0; a < kAccounts; ++a) {
    accounts.push_back("b" + std::to_string(a));
    world.account(accounts.back(), {{kAnyProduct, 100 * kMilliPerGpu}});
  }
  std::size_t jobs = 0, running = 0;
  const auto submit = [&](std::uint32_t pods, std::int64_t gpus) {
    const Topology topology = pods > 1 ? Topology::kNvlink : Topology::kAny;
    world.now += 1;
    world.submit(accounts[jobs++ % accounts.size()], pods, gpus, 24 * kHourMs, topology);
  };
  const auto start_in_each = [&](int count, std::uint32_t pods, std::int64_t gpus) {
    for (int i = 0; i < count * World::kCliques; ++i) submit(pods, gpus);
    do {
      running += world.run(world.apply(in::Pass{}).effects).size();
    } while (world.engine.pass_due());
  };
  start_in_each(1, 6, 4);
  start_in_each(1, 2, 4);
  start_in_each(8, 1, 4);
  start_in_each(2, 1, 3);
  start_in_each(2, 1, 1);
  std::fprintf(stderr, "claims: %zu jobs beyond quota on %d nodes\n", running,
               World::kCliques * World::kNodesOfClique);
  if (running != jobs || world.engine.claims("").size() != 0) std::exit(1);
}

// The longest pass of five that claims for such a job, in ms.
double slowest_claim(World& world, std::uint32_t pods, std::int64_t gpus, Topology topology) {
  std::vector<double> passes;
  std::size_t victims = 0;
  for (int i = 0; i < 5; ++i) {
    world.now += 1;
    const JobId job = world.submit("own", pods, gpus, kHourMs, topology);
    const bench::Stopwatch pass;
    world.apply(in::Pass{});
    passes.push_back(pass.ns() * 1e-6);
    const std::vector<ClaimRow> claims = world.engine.claims("");
    if (claims.size() != 1) {
      std::fprintf(stderr, "%zu claims instead of one\n", claims.size());
      std::exit(1);
    }
    victims = claims[0].victims.size();
    in::CancelJob cancel;
    cancel.job = job;
    cancel.reason = "bench";
    world.apply(cancel);
    world.apply(in::Pass{});
  }
  const double slowest = *std::max_element(passes.begin(), passes.end());
  std::sort(passes.begin(), passes.end());
  std::fprintf(stderr,
               "claim of %u pods of %lld GPUs: median %.2f ms, worst %.2f ms; %zu victims\n", pods,
               static_cast<long long>(gpus), passes[2], slowest, victims);
  return slowest;
}

void reclaim() {
  World world;
  fill_beyond_quota(world);
  const double one = slowest_claim(world, 1, 1, Topology::kAny);
  const double clique = slowest_claim(world, World::kNodesOfClique, 4, Topology::kNvlinkExclusive);
  bench::row("reclaim_ms", std::max(one, clique), "ms", 20, bench::Better::kLess,
             "the goal; KAI: 13.9 s for a job of one GPU");
  slowest_claim(world, World::kNodesOfClique, 4, Topology::kNvlink);
  slowest_claim(world, 64, 4, Topology::kAny);
  // Now all minimum runs are over, so the victims are asked at once.
  world.now += 11 * kMinuteMs;
  constexpr std::size_t kClaims = 4000;
  for (std::size_t i = 0; i < kClaims; ++i) world.submit("own", 1, 1);
  std::size_t passes = 0, asked = 0;
  const bench::Stopwatch all;
  do {
    asked += world.apply(in::Pass{}).effects.size();
    ++passes;
  } while (world.engine.pass_due());
  const double ms = all.ns() * 1e-6;
  const std::size_t claims = world.engine.claims("").size();
  std::fprintf(stderr, "%zu claims of one GPU in %zu passes, %zu victims asked\n", claims, passes,
               asked);
  if (claims != kClaims || asked < kClaims) std::exit(1);
  bench::row("reclaim_4000_ms", ms, "ms", 500, bench::Better::kLess,
             "the goal; KAI: 11.5 min for 4,000 jobs of one GPU");
}

}  // namespace
}  // namespace subak

// Without an argument all rows but those of claims; with "reclaim" only these.
int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "reclaim") {
    subak::reclaim();
    return 0;
  }
  subak::forecast("forecast_500_s", 125, 0, 1);
  subak::forecast("forecast_5k_s", 1'250, 0, 1);
  subak::forecast("forecast_50k_s", 12'500, 0, 1);
  subak::forecast("forecast_50k_kept_s", 12'500, 16, 1);
  subak::drain({"drain_30x500_per_s", 30, 500}, 8400);
  subak::drain_with_budgets();
  subak::drain({"drain_1000_no_quota_per_s", 1000, 4}, 1130);
  subak::queue_of_a_million(0);
  subak::queue_of_a_million(16);
  subak::line_at_a_limit();
}

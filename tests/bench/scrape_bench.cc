// The page at /metrics with 10,000 accounts, and what its figures cost to keep.
#include <prometheus/gauge.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "engine/engine.h"
#include "row.h"
#include "server/metrics/events.h"
#include "server/metrics/page.h"
#include "server/metrics/surveyor.h"

namespace subak {
namespace {

constexpr int kTop = 100, kBelow = 99;  // 100 x (1 + 99) accounts
constexpr int kNodes = 12'500;
constexpr int kRunning = 10'000, kQueued = 100'000;
constexpr int kRuns = 9;

class StillClock final : public Clock {
 public:
  TimeMs wall_ms() const override { return 0; }
  std::int64_t monotonic_us() const override { return 0; }
};

struct World {
  Engine engine;
  TimeMs now = 1'700'000'000'000;

  void apply(in::Body body) {
    const ApplyOutcome outcome = engine.apply(
        Input{.time_ms = ++now, .request_id = {}, .actor = "bench", .body = std::move(body)});
    if (!outcome.reply.error) return;
    std::fprintf(stderr, "refused: %s\n", outcome.reply.error->message().c_str());
    std::exit(1);
  }
  void account(const std::string& path) {
    in::SetAccount set;
    set.spec.path = path;
    set.spec.shares = 1;
    set.spec.limit = {{"gpu", 1'000'000}};
    set.reason = "bench";
    apply(set);
  }
  void build() {
    apply(in::SetCluster{"c", Mode::kEnforce, {}, "bench", false});
    in::ImportNodes fleet{"c", {}, "bench", false};
    for (int i = 0; i < kNodes; ++i) {
      NodeSpec node;
      node.name = "node-" + std::to_string(i);
      node.product = "NVIDIA-H100-80GB-HBM3";
      node.gpus = 8;
      fleet.nodes.push_back(node);
    }
    apply(fleet);
    for (int i = 0; i < kTop; ++i) {
      account("team-" + std::to_string(i));
      for (int j = 0; j < kBelow; ++j) account(leaf(i, j));
    }
  }
  static std::string leaf(int i, int j) {
    return "team-" + std::to_string(i) + ".project-" + std::to_string(j);
  }
  void submit(int n, std::int64_t gpus) {
    in::SubmitJob job;
    job.cluster = "c";
    job.account = leaf(n % kTop, n / kTop % kBelow);
    PodGroup group;
    group.shape.kind = GpuKind::kWhole;
    group.shape.gpus = gpus;
    job.request.groups.push_back(group);
    apply(job);
  }
  void load() {
    for (int i = 0; i < kRunning; ++i) submit(i, 8);
    while (engine.pass_due()) apply(in::Pass{});
    for (int i = 0; i < kQueued; ++i) submit(i, 16);  // no node has as many
  }
};

template <class Work>
double best_ms(Work work) {
  double best = 1e300;
  for (int i = 0; i < kRuns; ++i) {
    const bench::Stopwatch watch;
    work();
    best = std::min(best, watch.ns() / 1e6);
  }
  return best;
}

// prometheus-cpp's own registry with as many series as the page has.
double library_ms(std::size_t series) {
  prometheus::Registry registry;
  std::vector<prometheus::Family<prometheus::Gauge>*> families;
  for (int f = 0; f < 13; ++f) {
    families.push_back(&prometheus::BuildGauge()
                            .Name("subak_account_figure_" + std::to_string(f))
                            .Help("A figure of an account.")
                            .Register(registry));
  }
  for (std::size_t i = 0; i < series; ++i) {
    const auto n = static_cast<int>(i / families.size());
    families[i % families.size()]
        ->Add({{"account", World::leaf(n % kTop, n / kTop)}})
        .Set(static_cast<double>(i) * 1.1);
  }
  return best_ms([&] { bench::keep(prometheus::TextSerializer().Serialize(registry.Collect())); });
}

template <class Work>
double each_ns(Work work) {
  constexpr int kTimes = 200'000;
  return best_ms([&] {
           for (int i = 0; i < kTimes; ++i) work(i);
         }) *
         1e6 / kTimes;
}

void scrape(World& world, metrics::Events& events) {
  StillClock clock;
  metrics::Surveyor surveyor(clock, events);
  const bench::Stopwatch survey_watch;
  const Survey& survey = surveyor.look(world.engine);
  const double survey_ms = survey_watch.ns() / 1e6;
  std::string page;
  const double whole_ms = best_ms([&] {
    metrics::ShellState state;
    state.view = world.engine.view();
    metrics::Families families;
    metrics::write_state(families, state);
    metrics::write_fleet(families, world.engine, survey, world.now);
    page = metrics::write_accounts(families, world.engine, survey, world.now, false);
    page += events.text() + families.text();
  });
  const double rows_ms = best_ms([&] { bench::keep(world.engine.account_rows(world.now)); });
  const double fleet_ms = best_ms([&] {
    metrics::Families families;
    metrics::write_fleet(families, world.engine, survey, world.now);
    bench::keep(families.text());
  });
  std::size_t series = 0;
  for (std::size_t at = 0; at < page.size(); at = page.find('\n', at) + 1)
    series += page[at] != '#';
  const double library = library_ms(series);
  std::fprintf(stderr,
               "scrape: %zu series, %.1f MB: %.1f ms, of which rows of accounts %.1f ms, fleet and "
               "bill %.1f ms; prometheus-cpp with as many: %.1f ms\n",
               series, static_cast<double>(page.size()) / 1e6, whole_ms, rows_ms, fleet_ms,
               library);
  bench::row("scrape_10k_ms", whole_ms, "ms", library, bench::Better::kLess,
             "prometheus-cpp's own collect and serialise of as many series");
  bench::row("scrape_survey_ms", survey_ms, "ms");
}

}  // namespace
}  // namespace subak

int main() {
  using namespace subak;
  World world;
  world.build();
  world.load();
  metrics::Events events;
  scrape(world, events);
  bench::row("observe_ns", each_ns([&](int i) { events.pass(i % 5000); }), "ns");
  bench::row("admission_event_ns",
             each_ns([&](int i) { events.admission("denied", "exceeds_limit", i % 500); }), "ns");
}

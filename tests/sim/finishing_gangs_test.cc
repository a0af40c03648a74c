// Shares in a fleet of gangs and small jobs whose pods end one by one (docs/design/0127). The load
// is that of docs/beside-kueue.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "random_states.h"
#include "sim/driver.h"
#include "sim/engine_port.h"
#include "sim/read/rng.h"

namespace subak::sim {
namespace {

constexpr std::array<std::int64_t, 8> kWeights{1, 1, 1, 2, 2, 2, 3, 4};
constexpr std::int64_t kFleetGpus = 1024, kNodesOfRack = 16, kGpusOfNode = 8;

// pods, GPUs of each, topology
struct Kind {
  std::uint32_t pods;
  std::int64_t gpus;
  Topology topology = Topology::kAny;
  bool prefer = false;
};
const std::array<Kind, 8> kKinds{{{1, 1},
                                  {1, 2},
                                  {1, 4},
                                  {1, 8},
                                  {2, 8, Topology::kRack},
                                  {4, 2, Topology::kRack, true},
                                  {4, 8, Topology::kRack},
                                  {8, 1, Topology::kNode}}};

Workload make_load(std::size_t jobs, std::uint64_t seed) {
  Workload w;
  for (std::int64_t i = 0; i < kFleetGpus / kGpusOfNode; ++i) {
    NodeSpec node;
    node.name = "n" + std::to_string(i);
    node.product = "H100";
    node.gpus = kGpusOfNode;
    node.set_levels({"rack-" + std::to_string(i / kNodesOfRack)});
    w.nodes.push_back(std::move(node));
  }
  w.capacity = kFleetGpus * kMilliPerGpu;
  for (std::size_t i = 0; i < kWeights.size(); ++i) {
    const std::string name = "team-" + std::to_string(i);
    w.teams.push_back({name, name, kWeights[i], 32 * kWeights[i] * kMilliPerGpu});
  }
  for (const Kind& kind : kKinds) {
    GangRequest request;
    request.groups.resize(1);
    request.groups[0].count = kind.pods;
    request.groups[0].shape.kind = GpuKind::kWhole;
    request.groups[0].shape.gpus = kind.gpus;
    request.terms.topology = kind.topology;
    request.terms.prefer = kind.prefer;
    w.requests.push_back(std::move(request));
  }
  w.from_ms = 1'767'225'600'000;
  Rng rng(seed);
  for (std::size_t i = 0; i < jobs; ++i) {
    SimJob job;
    job.name = "j" + std::to_string(i);
    job.user = "ana";
    job.team = static_cast<std::uint32_t>(rng.below(kWeights.size()));
    job.request = static_cast<std::uint32_t>(rng.below(kKinds.size()));
    job.submit_ms = w.from_ms + static_cast<TimeMs>(i) * kSecondMs / 15;
    job.duration_ms = rng.between(10, 50) * kSecondMs;
    job.milligpu = kKinds[job.request].pods * kKinds[job.request].gpus * kMilliPerGpu;
    w.jobs.push_back(std::move(job));
  }
  w.to_ms = w.jobs.back().submit_ms;
  return w;
}

// Runs a pass after each pod that is gone, as the service does. The driver gets the effects of
// these passes with those of its next pass.
class OneByOne : public EnginePort {
 public:
  using EnginePort::EnginePort;
  Reply send(TimeMs t, in::Body body) override {
    const bool gone = std::holds_alternative<in::PodGone>(body);
    Reply reply = EnginePort::send(t, std::move(body));
    if (gone) std::ranges::move(EnginePort::pass(t), std::back_inserter(effects_));
    return reply;
  }
  std::vector<Effect> pass(TimeMs t) override {
    std::vector<Effect> out = std::exchange(effects_, {});
    std::ranges::move(EnginePort::pass(t), std::back_inserter(out));
    return out;
  }

 private:
  std::vector<Effect> effects_;
};

// How far the GPUs of the teams are from their entitlements, while more GPUs are wanted than there
// are. A team that wants less than its entitlement gets what it wants, and the others share the
// rest by their weights.
class Shares : public Observer {
 public:
  explicit Shares(const Workload& w) : w_(w), now_(w.from_ms) {}
  void submitted(std::uint32_t job, JobId, TimeMs t) override { change(wanted_, job, t, 1); }
  void started(std::uint32_t job, TimeMs t, const std::vector<EffectPod>&) override {
    change(used_, job, t, 1);
  }
  void ended(std::uint32_t job, TimeMs t) override {
    change(used_, job, t, -1);
    change(wanted_, job, t, -1);
  }
  // The mean over time of the part of the used GPUs that is with teams beyond their entitlement.
  double distance() const { return sum_ / time_; }

 private:
  using ByTeam = std::array<double, kWeights.size()>;

  static double sum_of(const ByTeam& all) {
    double sum = 0;
    for (const double x : all) sum += x;
    return sum;
  }
  ByTeam entitled() const {
    ByTeam out{};
    double left = kFleetGpus;
    std::array<bool, kWeights.size()> is_full{};
    for (bool again = true; again;) {
      again = false;
      double weights = 0;
      for (std::size_t i = 0; i < out.size(); ++i) weights += is_full[i] ? 0 : double(kWeights[i]);
      if (weights == 0) break;
      const double unit = left / weights;
      for (std::size_t i = 0; i < out.size(); ++i) {
        if (is_full[i]) continue;
        out[i] = unit * double(kWeights[i]);
        if (wanted_[i] > out[i]) continue;
        out[i] = wanted_[i];
        left -= wanted_[i];
        is_full[i] = again = true;
      }
    }
    return out;
  }
  void change(ByTeam& of, std::uint32_t job, TimeMs t, int sign) {
    const double used = sum_of(used_);
    if (t > now_ && used > 0 && sum_of(wanted_) > kFleetGpus) {
      const ByTeam due = entitled();
      double apart = 0;
      for (std::size_t i = 0; i < due.size(); ++i)
        apart += std::abs(used_[i] / used - due[i] / sum_of(due)) / 2;
      sum_ += apart * double(t - now_);
      time_ += double(t - now_);
    }
    now_ = t;
    of[w_.jobs[job].team] += sign * double(w_.jobs[job].milligpu) / kMilliPerGpu;
  }

  const Workload& w_;
  TimeMs now_;
  ByTeam wanted_{}, used_{};
  double sum_ = 0, time_ = 0;
};

TEST(FinishingGangs, TeamsOfGangsGetTheirShares) {
  const std::uint64_t first = setting("SUBAK_SHARES_SEED", 1);
  double sum = 0;
  const std::uint64_t seeds = setting("SUBAK_SHARES_SEEDS", 2);
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const Workload load = make_load(setting("SUBAK_SHARES_JOBS", 1500), seed);
    Shares shares(load);
    Engine engine;
    OneByOne port(engine);
    Driver driver(load, port, shares);
    ASSERT_FALSE(driver.set_up(Policy()));
    driver.run();
    ASSERT_EQ(driver.finished(), load.jobs.size());
    std::printf("seed %llu: distance from entitlement %.1f %%\n",
                static_cast<unsigned long long>(seed), 100 * shares.distance());
    sum += shares.distance();
  }
  // Page 0127 measured 18 to 21 % without its rule.
  EXPECT_LT(sum / double(seeds), 0.13);
}

}  // namespace
}  // namespace subak::sim

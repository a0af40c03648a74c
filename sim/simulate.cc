#include "sim/simulate.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <variant>

#include "sim/driver.h"
#include "sim/eta.h"
#include "sim/fragmentation.h"

namespace subak::sim {
namespace {

using Clock = std::chrono::steady_clock;

// Keeps the integrals and the fate of each job while the driver runs.
class Keeper : public Observer {
 public:
  Keeper(const Workload& w, EtaJudge* eta)
      : workload_(w),
        eta_(eta),
        timeline_(w.teams.size(), w.from_ms, w.to_ms),
        fragmentation_(w.nodes, w.requests, popularity(w), w.from_ms, w.to_ms),
        fates_(w.jobs.size()),
        pods_(w.jobs.size()) {}

  void submitted(std::uint32_t index, JobId id, TimeMs t) override {
    const SimJob& job = workload_.jobs[index];
    timeline_.change(job.team, t, 0, job.milligpu);
    if (eta_ != nullptr) eta_->submitted(index, id);
  }
  void started(std::uint32_t index, TimeMs t, const std::vector<EffectPod>& pods) override {
    const SimJob& job = workload_.jobs[index];
    timeline_.change(job.team, t, job.milligpu, -job.milligpu);
    fates_[index].start_ms = t;
    pods_[index] = pods;
    take(pods, +1, t);
    if (eta_ != nullptr) eta_->started(index, t);
  }
  void ended(std::uint32_t index, TimeMs t) override {
    const SimJob& job = workload_.jobs[index];
    timeline_.change(job.team, t, -job.milligpu, 0);
    fates_[index].end_ms = t;
    take(pods_[index], -1, t);
    std::vector<EffectPod>().swap(pods_[index]);
  }
  void settled(TimeMs t) override {
    if (eta_ == nullptr) return;
    const Clock::time_point start = Clock::now();
    eta_->settled(t);
    telling_ += Clock::now() - start;
  }
  double telling_s() const { return std::chrono::duration<double>(telling_).count(); }
  SimResult result() {
    timeline_.finish();
    SimResult r = make_result(workload_, timeline_, fates_);
    r.fragmentation = fragmentation_.time_mean(workload_.to_ms);
    return r;
  }

 private:
  static std::vector<std::uint64_t> popularity(const Workload& w) {
    std::vector<std::uint64_t> counts(w.requests.size());
    for (const SimJob& job : w.jobs) counts[job.request] += job.warm ? 0 : 1;
    return counts;
  }
  void take(const std::vector<EffectPod>& pods, MilliGpu sign, TimeMs t) {
    for (const EffectPod& pod : pods) {
      const int gpus = std::popcount(pod.gpu_mask);
      if (gpus > 0) fragmentation_.change(pod.node, pod.gpu_mask, sign * pod.milligpu / gpus, t);
    }
  }
  const Workload& workload_;
  EtaJudge* eta_;  // none: not asked for
  Clock::duration telling_{};
  Timeline timeline_;
  Fragmentation fragmentation_;
  std::vector<JobFate> fates_;
  std::vector<std::vector<EffectPod>> pods_;  // of running jobs
};

// Integrates what is kept idle, from the inputs.
class KeptIdle {
 public:
  explicit KeptIdle(const Engine& engine, TimeMs from, TimeMs to)
      : engine_(engine), since_(from), to_(to) {}
  void saw(const Input& input) {
    const TimeMs now = std::min(input.time_ms, to_);
    gpu_ms_ += static_cast<double>(level_) / kMilliPerGpu * static_cast<double>(now - since_);
    since_ = now;
    if (!std::holds_alternative<in::Pass>(input.body)) return;
    const ClusterId cluster = engine_.find_cluster(kClusterName);
    level_ = cluster ? engine_.kept_idle(cluster) : 0;
  }
  double gpu_hours() const { return gpu_ms_ / kHourMs; }

 private:
  const Engine& engine_;
  TimeMs since_, to_;
  MilliGpu level_ = 0;
  double gpu_ms_ = 0;
};

}  // namespace

Result<SimResult> simulate(const Workload& workload, const Policy& policy,
                           const SimulateOptions& options) {
  const Clock::time_point start = Clock::now();
  Engine engine;
  KeptIdle kept(engine, workload.from_ms, workload.to_ms);
  EnginePort port(engine, [&](const Input& input, const ApplyOutcome& outcome) {
    kept.saw(input);
    if (options.observer) options.observer(input, outcome);
  });
  std::optional<EtaJudge> eta;
  if (options.eta.told > 0) eta.emplace(workload, engine, options.eta);
  Keeper keeper(workload, eta ? &*eta : nullptr);
  Driver driver(workload, port, keeper);
  if (const auto error = driver.set_up(policy)) return *error;
  driver.run(options.progress);
  const double wall_s =
      std::chrono::duration<double>(Clock::now() - start).count() - keeper.telling_s();
  if (options.check_invariants) engine.check_invariants();
  SimResult result = keeper.result();
  result.policy = enum_name(policy.order);
  result.unplaceable += driver.refused();
  if (eta) result.eta = eta->result();
  result.kept_idle_gpu_h = kept.gpu_hours();
  result.wall_s = wall_s;
  result.sim_speedup = static_cast<double>(driver.now() - workload.from_ms) / 1000 / wall_s;
  return result;
}

}  // namespace subak::sim

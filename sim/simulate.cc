#include "sim/simulate.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <variant>

#include "sim/report/eta.h"
#include "sim/report/fragmentation.h"
#include "sim/report/quota.h"

namespace subak::sim {
namespace {

using Clock = std::chrono::steady_clock;

// Integrates the reserved idle GPUs over time. saw() takes each input and its outcome.
class ReservedIdle {
 public:
  ReservedIdle(const Engine& engine, TimeMs from, TimeMs to)
      : engine_(engine), since_(from), to_(to) {}

  void submitted(JobId id, MilliGpu milligpu) { wait(id, milligpu); }
  void saw(const Input& input, const ApplyOutcome& outcome) {
    const TimeMs now = std::min(input.time_ms, to_);
    const auto gpu_ms = [&](MilliGpu level) {
      return static_cast<double>(level) / kMilliPerGpu * static_cast<double>(now - since_);
    };
    gpu_ms_ += gpu_ms(level_);
    beside_gpu_ms_ += gpu_ms(beside_);
    since_ = now;
    for (const Fact& fact : outcome.facts) {
      if (const auto* reserved = std::get_if<fact::Reserved>(&fact.body)) note(*reserved);
      if (const auto* started = std::get_if<fact::AttemptStarted>(&fact.body)) note(*started);
    }
    if (!std::holds_alternative<in::Pass>(input.body)) return;
    const ClusterId cluster = engine_.find_cluster(kClusterName);
    level_ = cluster ? engine_.reserved_idle(cluster) : 0;
    beside_ = used_by_others();
  }
  double gpu_hours() const { return gpu_ms_ / kHourMs; }
  double beside_gpu_hours() const { return beside_gpu_ms_ / kHourMs; }

 private:
  void wait(JobId id, MilliGpu milligpu) {
    waiting_[id] = milligpu;
    ++by_size_[milligpu];
  }
  MilliGpu stop_waiting(JobId id) {
    const auto at = waiting_.find(id);
    if (at == waiting_.end()) return 0;
    const MilliGpu milligpu = at->second;
    const auto size = by_size_.find(milligpu);
    if (--size->second == 0) by_size_.erase(size);
    waiting_.erase(at);
    return milligpu;
  }
  void note(const fact::Reserved& f) {
    if (!f.nodes.empty()) {
      if (const MilliGpu milligpu = stop_waiting(f.job)) reserved_[f.job] = milligpu;
    } else if (const auto at = reserved_.find(f.job); at != reserved_.end()) {
      wait(f.job, at->second);
      reserved_.erase(at);
    }
  }
  void note(const fact::AttemptStarted& f) {
    stop_waiting(f.id);
    reserved_.erase(f.id);
  }
  // Returns an upper bound for the reserved idle GPUs that waiting jobs without a reservation could
  // use. It compares sizes alone: a job that is larger than the reserved idle GPUs could not start
  // on them.
  MilliGpu used_by_others() const {
    MilliGpu sum = 0;
    for (const auto& [milligpu, jobs] : by_size_) {
      if (milligpu > level_ || sum >= level_) break;
      sum += milligpu * jobs;
    }
    return std::min(sum, level_);
  }

  const Engine& engine_;
  TimeMs since_, to_;
  MilliGpu level_ = 0, beside_ = 0;
  double gpu_ms_ = 0, beside_gpu_ms_ = 0;
  // Jobs with reserved nodes are in `reserved_`.
  std::unordered_map<JobId, MilliGpu> waiting_, reserved_;
  std::map<MilliGpu, std::int64_t> by_size_;  // of waiting_
};

// Stores the integrals and the fate of each job while the driver runs.
class Keeper : public Observer {
 public:
  Keeper(const Workload& w, ReservedIdle& kept, EtaJudge* eta)
      : workload_(w),
        kept_(kept),
        eta_(eta),
        timeline_(w.teams.size(), w.from_ms, w.to_ms),
        fragmentation_(w.nodes, w.requests, popularity(w), w.from_ms, w.to_ms),
        fates_(w.jobs.size()),
        since_(w.jobs.size()),
        within_quota_(w),
        pods_(w.jobs.size()) {}

  void submitted(std::uint32_t index, JobId id, TimeMs t) override {
    const SimJob& job = workload_.jobs[index];
    timeline_.change(job.team, t, 0, job.milligpu);
    within_quota_.queued(job.team, t, job.milligpu);
    kept_.submitted(id, job.milligpu);
    if (eta_ != nullptr) eta_->submitted(index, id);
  }
  void started(std::uint32_t index, TimeMs t, const std::vector<EffectPod>& pods) override {
    const SimJob& job = workload_.jobs[index];
    timeline_.change(job.team, t, job.milligpu, -job.milligpu);
    within_quota_.started(job.team, t, job.milligpu);
    JobFate& fate = fates_[index];
    const bool is_first = fate.start_ms < 0;
    if (is_first) {
      fate.start_ms = t;
    } else {
      fate.again_ms += t - since_[index];
    }
    since_[index] = t;
    pods_[index] = pods;
    take(pods, +1, t);
    if (eta_ != nullptr && is_first) eta_->started(index, t);
  }
  void preempted(std::uint32_t index, JobId id, TimeMs t, DurationMs lost_ms) override {
    const SimJob& job = workload_.jobs[index];
    timeline_.change(job.team, t, -job.milligpu, job.milligpu);
    within_quota_.queued(job.team, t, job.milligpu);
    kept_.submitted(id, job.milligpu);
    release(index, t);
    fates_[index].lost_ms += lost_ms;
    ++fates_[index].preemptions;
  }
  void ended(std::uint32_t index, TimeMs t) override {
    const SimJob& job = workload_.jobs[index];
    timeline_.change(job.team, t, -job.milligpu, 0);
    fates_[index].end_ms = t;
    release(index, t);
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
    if (r.quota) r.quota->queued_within_gpu_h = within_quota_.gpu_hours();
    r.fragmentation = fragmentation_.time_mean(workload_.to_ms);
    return r;
  }

 private:
  static std::vector<std::uint64_t> popularity(const Workload& w) {
    std::vector<std::uint64_t> counts(w.requests.size());
    for (const SimJob& job : w.jobs) counts[job.request] += job.warm ? 0 : 1;
    return counts;
  }
  // The job holds nothing from `t` on.
  void release(std::uint32_t index, TimeMs t) {
    within_quota_.ended(workload_.jobs[index].team, t, workload_.jobs[index].milligpu);
    fates_[index].held_ms += t - since_[index];
    since_[index] = t;
    take(pods_[index], -1, t);
    std::vector<EffectPod>().swap(pods_[index]);
  }
  void take(const std::vector<EffectPod>& pods, MilliGpu sign, TimeMs t) {
    for (const EffectPod& pod : pods) {
      const int gpus = std::popcount(pod.gpu_mask);
      if (gpus > 0) fragmentation_.change(pod.node, pod.gpu_mask, sign * pod.milligpu / gpus, t);
    }
  }
  const Workload& workload_;
  ReservedIdle& kept_;
  EtaJudge* eta_;  // none: not requested
  Clock::duration telling_{};
  Timeline timeline_;
  Fragmentation fragmentation_;
  std::vector<JobFate> fates_;
  // By job: the last start or end of an attempt.
  std::vector<TimeMs> since_;
  QueuedWithinQuota within_quota_;
  std::vector<std::vector<EffectPod>> pods_;  // of running jobs
};

}  // namespace

Result<SimResult> simulate(const Workload& workload, const Policy& policy,
                           const SimulateOptions& options) {
  const Clock::time_point start = Clock::now();
  Engine engine;
  ReservedIdle kept(engine, workload.from_ms, workload.to_ms);
  EnginePort port(engine, [&](const Input& input, const ApplyOutcome& outcome) {
    kept.saw(input, outcome);
    if (options.observer) options.observer(input, outcome);
  });
  std::optional<EtaJudge> eta;
  if (options.eta.told > 0) eta.emplace(workload, engine, options.eta);
  Keeper keeper(workload, kept, eta ? &*eta : nullptr);
  Driver driver(workload, port, keeper, options.victims);
  if (const auto error = driver.set_up(policy)) return *error;
  driver.run(options.progress);
  const double wall_s =
      std::chrono::duration<double>(Clock::now() - start).count() - keeper.telling_s();
  if (options.check_invariants) engine.check_invariants();
  SimResult result = keeper.result();
  result.policy = enum_name(policy.order);
  result.unplaceable += driver.refused();
  if (eta) result.eta = eta->result();
  result.reserved_idle.gpu_h = kept.gpu_hours();
  result.reserved_idle.beside_gpu_h = kept.beside_gpu_hours();
  result.wall_s = wall_s;
  result.sim_speedup = static_cast<double>(driver.now() - workload.from_ms) / 1000 / wall_s;
  return result;
}

}  // namespace subak::sim

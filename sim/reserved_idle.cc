#include "sim/reserved_idle.h"

#include <algorithm>
#include <variant>

#include "sim/read/workload.h"

namespace subak::sim {

void ReservedIdle::saw(const Input& input, const ApplyOutcome& outcome) {
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

void ReservedIdle::wait(JobId id, MilliGpu milligpu) {
  waiting_[id] = milligpu;
  ++by_size_[milligpu];
}

MilliGpu ReservedIdle::stop_waiting(JobId id) {
  const auto at = waiting_.find(id);
  if (at == waiting_.end()) return 0;
  const MilliGpu milligpu = at->second;
  const auto size = by_size_.find(milligpu);
  if (--size->second == 0) by_size_.erase(size);
  waiting_.erase(at);
  return milligpu;
}

void ReservedIdle::note(const fact::Reserved& f) {
  if (!f.nodes.empty()) {
    if (const MilliGpu milligpu = stop_waiting(f.job)) reserved_[f.job] = milligpu;
  } else if (const auto at = reserved_.find(f.job); at != reserved_.end()) {
    wait(f.job, at->second);
    reserved_.erase(at);
  }
}

void ReservedIdle::note(const fact::AttemptStarted& f) {
  stop_waiting(f.id);
  reserved_.erase(f.id);
}

MilliGpu ReservedIdle::used_by_others() const {
  MilliGpu sum = 0;
  for (const auto& [milligpu, jobs] : by_size_) {
    if (milligpu > level_ || sum >= level_) break;
    sum += milligpu * jobs;
  }
  return std::min(sum, level_);
}

}  // namespace subak::sim

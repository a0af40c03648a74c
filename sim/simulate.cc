#include "sim/simulate.h"

#include <chrono>

#include "sim/measures.h"
#include "sim/reserved_idle.h"

namespace subak::sim {

Result<SimResult> simulate(const Workload& workload, const Policy& policy,
                           const SimulateOptions& options) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  Engine engine;
  ReservedIdle kept(engine, workload.from_ms, workload.to_ms);
  EnginePort port(engine, [&](const Input& input, const ApplyOutcome& outcome) {
    kept.saw(input, outcome);
    if (options.observer) options.observer(input, outcome);
  });
  std::optional<EtaJudge> eta;
  if (options.eta.told > 0) eta.emplace(workload, engine, options.eta);
  Measures measures(workload, &kept, eta ? &*eta : nullptr);
  Driver driver(workload, port, measures, options.victims);
  if (const auto error = driver.set_up(policy)) return *error;
  driver.run([&](double done) {
    if (options.progress) options.progress(done);
    return true;
  });
  const double wall_s =
      std::chrono::duration<double>(Clock::now() - start).count() - measures.telling_s();
  if (options.check_invariants) engine.check_invariants();
  SimResult result = measures.result();
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

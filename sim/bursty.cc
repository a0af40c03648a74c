#include "sim/bursty.h"

#include <cassert>
#include <string>
#include <utility>

#include "sim/read/rng.h"
#include "sim/simulate.h"

namespace subak::sim {
namespace {

constexpr std::int64_t kNodes = 40, kGpusPerNode = 8, kGangNodes = 36;
constexpr DurationMs kShortMs = 5 * kMinuteMs, kGangMs = 30 * kMinuteMs;
constexpr DurationMs kFirstGangMs = kHourMs, kGangEveryMs = 6 * kHourMs;
constexpr double kShortLoad = 0.7;

TraceJob row(std::string id, std::string team, DurationMs submit, DurationMs length,
             std::int64_t gpus) {
  TraceJob job;
  job.id = std::move(id);
  job.team = std::move(team);
  job.submit_ms = submit;
  job.duration_ms = length;
  job.milligpu = gpus * kMilliPerGpu;
  return job;
}

}  // namespace

Workload bursty_workload(const BurstyOptions& options) {
  Rng rng(options.seed);
  const double between = double{kShortMs} / (kShortLoad * double{kNodes * kGpusPerNode});
  std::vector<TraceJob> trace;
  DurationMs gang = kFirstGangMs;
  double at = rng.exponential(between);
  while (at < static_cast<double>(options.length_ms)) {
    const auto submit = static_cast<DurationMs>(at);
    for (; gang <= submit; gang += kGangEveryMs) {
      trace.push_back(row("gang-" + std::to_string(gang / kHourMs), "gangs", gang, kGangMs,
                          kGangNodes * kGpusPerNode));
    }
    const auto length = 1 + static_cast<DurationMs>(rng.exponential(double{kShortMs}));
    trace.push_back(row(std::to_string(trace.size()), "short", submit, length, 1));
    at += rng.exponential(between);
  }
  WorkloadOptions workload;
  workload.to_day = static_cast<double>(options.length_ms) / double{kDayMs};
  auto nodes = read_nodes(std::to_string(kNodes) + "x" + std::to_string(kGpusPerNode));
  assert(nodes.ok());
  auto made = make_workload(std::move(trace), *std::move(nodes), workload);
  assert(made.ok());
  return *std::move(made);
}

std::vector<SimResult> run_bursty(const BurstyOptions& options) {
  const Workload workload = bursty_workload(options);
  std::vector<SimResult> results;
  for (const OrderPolicy order : options.policies) {
    Policy policy;
    policy.order = order;
    auto result = simulate(workload, policy);
    assert(result.ok());
    results.push_back(*std::move(result));
    if (!options.progress) continue;
    options.progress(static_cast<double>(results.size()) /
                     static_cast<double>(options.policies.size()));
  }
  return results;
}

}  // namespace subak::sim

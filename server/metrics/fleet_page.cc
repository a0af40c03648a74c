#include <map>
#include <string>
#include <tuple>

#include "server/metrics/page.h"

namespace subak::metrics {
namespace {

using Counts = std::map<std::tuple<std::string, std::string, std::string>, std::int64_t>;

void write_domains(Exposition& out, const Engine& engine, const std::vector<ClusterId>& clusters) {
  Counts counts;
  for (const ClusterId cluster : clusters) {
    const std::string name = engine.cluster_name(cluster);
    for (const DomainRow& d : engine.fleet().domains(cluster)) {
      const char* state = d.free == d.installed ? "free" : d.free > 0 ? "partly" : "full";
      ++counts[{name, d.kind, state}];
    }
  }
  out.gauge("domains", "NVLink domains by how much of them is free.");
  for (const auto& [key, count] : counts) {
    const auto& [cluster, kind, state] = key;
    out.sample({{"cluster", cluster}, {"kind", kind}, {"state", state}}, count);
  }
}

void write_slices(Exposition& out, const Engine& engine, const std::vector<ClusterId>& clusters) {
  Counts counts;
  for (const ClusterId cluster : clusters) {
    const std::string name = engine.cluster_name(cluster);
    for (const MigRow& row : engine.fleet().mig(cluster)) {
      counts[{name, row.profile, "used"}] += row.used;
      counts[{name, row.profile, "free"}] += row.configured - row.used;
    }
  }
  out.gauge("mig_slices", "Configured MIG slices.");
  for (const auto& [key, count] : counts) {
    const auto& [cluster, profile, state] = key;
    out.sample({{"cluster", cluster}, {"profile", profile}, {"state", state}}, count);
  }
}

}  // namespace

void write_fleet(Exposition& out, const Engine& engine, TimeMs now) {
  std::vector<ClusterId> clusters;
  const std::shared_ptr<const View> view = engine.view();
  for (const ClusterView& cluster : *view->clusters) clusters.push_back(cluster.id);
  write_domains(out, engine, clusters);
  write_slices(out, engine, clusters);
  out.gauge("bill_residual_gpu_seconds",
            "GPU time of all nodes that no payer explains, summed without sign; must be 0.");
  const GpuTime residual = engine.residual(now);
  out.sample({},
             static_cast<double>(residual.raw()) / static_cast<double>(GpuTime::kRawPerGpuSecond));
}

}  // namespace subak::metrics

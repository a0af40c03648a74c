#include "engine/state/observed/early_pods.h"

#include <utility>

#include "core/must.h"

namespace subak::state {

std::vector<EarlyPod> EarlyPods::on(ClusterId cluster, std::string_view node) const {
  std::vector<EarlyPod> out;
  const auto known = reports_.find(cluster);
  if (known == reports_.end()) return out;
  must(!known->second.empty(), "no cluster is remembered for nothing");
  for (const auto& [name, pod] : known->second) {
    if (pod.node == node) out.push_back(pod);
  }
  return out;
}

std::size_t EarlyPods::count(ClusterId cluster) const {
  const auto known = reports_.find(cluster);
  return known == reports_.end() ? 0 : known->second.size();
}

void EarlyPods::add(ClusterId cluster, EarlyPod pod) {
  must(static_cast<bool>(cluster), "an early report is of a cluster");
  std::string name = pod.pod;
  reports_[cluster][std::move(name)] = std::move(pod);
}

void EarlyPods::drop(ClusterId cluster, const std::string& pod) {
  const auto known = reports_.find(cluster);
  if (known == reports_.end()) return;
  known->second.erase(pod);
  if (known->second.empty()) reports_.erase(known);
}

void EarlyPods::forget(ClusterId cluster) { reports_.erase(cluster); }

void EarlyPods::check(const Clusters& clusters) const {
  for (const auto& [cluster, pods] : reports_) {
    must(clusters.all().contains(cluster), "an early report is of a cluster");
    must(!pods.empty(), "no cluster is remembered for nothing");
    for (const auto& [name, pod] : pods) must(pod.pod == name, "a report is under its pod");
  }
}

}  // namespace subak::state

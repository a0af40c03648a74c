// Early reports: reports of pods on nodes that Subak has not seen yet. The engine decides on these
// reports once their node is seen. The caller bounds the number of reports (limits::kMaxEarlyPods).
//
// A restart loses early reports, which does no harm, because the edge's list repeats them.
// Threads: one at a time; Observed owns the object.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "engine/state/clusters.h"
#include "model/input.h"

namespace subak::state {

// The last early report of a pod.
struct EarlyPod {
  // The pod's uid, or for a launcher's pod its job, rank and attempt: "1-42/0/1".
  std::string pod;
  // The name of the node that the pod is on.
  std::string node;
  // The report as it came, except that the time in a PodBound is by the service's clock.
  in::Body said;
};

// The early reports of all clusters: the last report of each pod.
class EarlyPods {
 public:
  // Returns copies of the reports of pods on this node, by pod. O(reports of the cluster).
  std::vector<EarlyPod> on(ClusterId cluster, std::string_view node) const;
  // The number of reports of the cluster.
  std::size_t count(ClusterId cluster) const;

  // Adds a report. The report replaces the earlier report of the same pod.
  void add(ClusterId cluster, EarlyPod pod);
  // Drops the report of the pod. Does nothing if there is no report of the pod.
  void drop(ClusterId cluster, const std::string& pod);
  // Drops all reports of the cluster.
  void forget(ClusterId cluster);

  // Asserts that each report is stored under its pod, and that its cluster exists.
  void check(const Clusters& clusters) const;

 private:
  // The reports by cluster, then by pod. No map is empty.
  std::map<ClusterId, std::map<std::string, EarlyPod>> reports_;
};

}  // namespace subak::state

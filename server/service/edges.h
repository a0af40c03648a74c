// Makes the edges that the configuration names: one for each cluster with connection data.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "engine/answers/view.h"
#include "server/config/config.h"
#include "server/edge/cluster/edge.h"
#include "server/edge/cluster/pod_label.h"
#include "server/metrics/page.h"

namespace subak {

// Returns the clusters with an edge of this service. An empty name means the only cluster.
std::vector<std::string> own_edges(const Config& config);

// An edge with its cluster's name in the configuration.
struct NamedEdge {
  // The name of the cluster; empty: the only cluster.
  std::string cluster;
  // Never nullptr.
  std::unique_ptr<Edge> edge;
};

// Reads kubeconfigs and makes the edges without starting them. `view` has the clusters already. An
// error names the cluster and the field of the file. It may also say that flags do not name one of
// several clusters. If one cluster fails, no edge is made.
// `clock` gives the time by which credentials expire, and outlives the edges. The edges' threads
// call `ports`. Threads: the one that starts the service.
Result<std::vector<NamedEdge>> make_edges(const Config& config, const View& view,
                                          const EdgePorts& ports, const Clock& clock);

// Makes the PodLabel of the configured own pod without starting it; nullptr: no pod is configured.
// An error: the pod is not one of this cluster. `clock` outlives the result.
Result<std::unique_ptr<PodLabel>> make_pod_label(const Config& config, const Clock& clock);

// Returns the warning about one edge for `subak status`; empty: the edge has no trouble.
std::string edge_warning(const std::string& cluster, const EdgeStats& stats);

// Return the warnings for GetStatus, one for each edge in trouble, and the figures for the metrics
// page. Threads: any, once the edges are made.
std::vector<std::string> edge_warnings(const std::vector<NamedEdge>& edges);
std::vector<metrics::EdgeState> edge_states(const std::vector<NamedEdge>& edges);

}  // namespace subak

// Makes the edges of the configuration: one for each cluster with connection data.
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

// Returns the clusters with an edge; an empty name: the only cluster there is.
std::vector<std::string> own_edges(const Config& config);

// `cluster` as the configuration has it.
struct NamedEdge {
  // The name of the cluster; empty: the only one.
  std::string cluster;
  // Never nullptr.
  std::unique_ptr<Edge> edge;
};

// Reads kubeconfigs and makes the edges without starting them. `view` has the clusters already. An
// error names the cluster and the field of the file, or says that flags name none of several
// clusters. `clock` outlives the edges; credentials expire by it. Threads: the one that starts the
// service.
// `ports` are called on the edges' threads. A failure of one cluster makes no edge at all.
Result<std::vector<NamedEdge>> make_edges(const Config& config, const View& view,
                                          const EdgePorts& ports, const Clock& clock);

// Makes the label of the configured own pod without starting it; nullptr: none is configured. An
// error: it is not a pod of this cluster. `clock` outlives it.
Result<std::unique_ptr<PodLabel>> make_pod_label(const Config& config, const Clock& clock);

// Returns the warning of `status` about one edge; empty: it follows without trouble.
std::string edge_warning(const std::string& cluster, const EdgeStats& stats);

// For GetStatus and for the metrics page. Threads: any, once the edges are made.
// One for each edge in trouble.
std::vector<std::string> edge_warnings(const std::vector<NamedEdge>& edges);
std::vector<metrics::EdgeState> edge_states(const std::vector<NamedEdge>& edges);

}  // namespace subak

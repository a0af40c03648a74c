// The edges that the configuration asks for, one for each cluster that it says how to reach.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "engine/view.h"
#include "server/config/config.h"
#include "server/kube/edge.h"
#include "server/kube/pod_label.h"
#include "server/metrics/page.h"

namespace subak {

// Clusters that have one; an empty name: the only cluster there is.
std::vector<std::string> own_edges(const Config& config);

struct NamedEdge {
  std::string cluster;
  std::unique_ptr<Edge> edge;
};

// Reads kubeconfigs and makes the edges; none is started. `view` has the clusters by now. An error
// names the cluster and the field of the file, or says that flags name none of several clusters. `clock` outlives them; credentials expire by it. Threads: the one that starts the service.
Result<std::vector<NamedEdge>> make_edges(const Config& config, const View& view,
                                          const EdgePorts& ports, const Clock& clock);

// The label of the pod that the configuration says we run in, which is not started; nullptr: it names none. An error: it
// is not a pod of this cluster. `clock` outlives it.
Result<std::unique_ptr<PodLabel>> make_pod_label(const Config& config, const Clock& clock);

// What `status` says of one edge; empty: it follows, and nothing is wrong.
std::string edge_warning(const std::string& cluster, const EdgeStats& stats);

// For GetStatus and for the metrics page. Threads: any, once the edges are made.
std::vector<std::string> edge_warnings(const std::vector<NamedEdge>& edges);
std::vector<metrics::EdgeState> edge_states(const std::vector<NamedEdge>& edges);

}  // namespace subak

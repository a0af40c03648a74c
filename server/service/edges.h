// Makes the service's own edges: one for each cluster of the configuration that has connection
// data. An edge follows one cluster and carries out Subak's decisions there.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "engine/answers/view.h"
#include "server/config/config.h"
#include "server/edge/cluster/edge.h"
#include "server/edge/cluster/pod_label.h"
#include "server/metrics/page.h"

namespace subak {

// Returns the clusters for which this service has an edge. An empty name stands for the only
// cluster.
std::vector<std::string> own_edges(const Config& config);

// An edge, with the name of its cluster in the configuration.
struct NamedEdge {
  // The name of the cluster; empty: the only cluster.
  std::string cluster;
  // Never nullptr.
  std::unique_ptr<Edge> edge;
};

// Reads the kubeconfigs and makes the edges, without starting them. `view` must have the configured
// clusters. `ports`: the threads of the edges call these functions. `clock`: the time by which
// credentials expire; it must outlive the edges. If the edge for one cluster cannot be made, no
// edge is made. The error names the cluster and the field of the file. There is also an error if
// the connection data have no name of a cluster, and `view` has several clusters. Threads: only the
// thread that starts the service.
Result<std::vector<NamedEdge>> make_edges(const Config& config, const View& view,
                                          const EdgePorts& ports, const Clock& clock);

// Makes the PodLabel for the configured own pod (Config::own_pod), without starting it. nullptr: no
// pod is configured. An error: this process cannot reach the API server as a pod of a cluster.
// `clock` must outlive the result.
Result<std::unique_ptr<PodLabel>> make_pod_label(const Config& config, const Clock& clock);

// Returns a warning about one edge for `subak status`; empty: the edge works.
std::string edge_warning(const std::string& cluster, const EdgeStats& stats);

// edge_warnings() returns the warnings for GetStatus, one for each edge that does not work.
// edge_states() returns the figures for the metrics page. Threads: any, once the edges are made.
std::vector<std::string> edge_warnings(const std::vector<NamedEdge>& edges);
std::vector<metrics::EdgeState> edge_states(const std::vector<NamedEdge>& edges);
// Returns the ComputeDomains that the edge of this cluster made. An empty name stands for the only
// edge. nullptr: there is no such edge. Threads: any, once the edges are made.
std::shared_ptr<const std::vector<ComputeDomainRow>> edge_domains(
    const std::vector<NamedEdge>& edges, std::string_view cluster);

}  // namespace subak

// The objects that all parts of an edge (the other headers of this folder) use. Threads: only the
// edge's thread, but any thread may use `inbox`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/edge_limits.h"
#include "core/limits.h"
#include "server/edge/cache/cluster_cache.h"
#include "server/edge/client/client.h"
#include "server/edge/cluster/edge.h"
#include "server/edge/cluster/inbox.h"
#include "server/edge/provisioning/request_cache.h"

namespace subak {

// Options, ports, the client of the API server and the object cache of one edge. The edge owns the
// context, which outlives all parts.
struct EdgeContext {
  EdgeContext(EdgeOptions o, EdgePorts p, std::unique_ptr<KubeApi> a)
      : options(std::move(o)),
        ports(std::move(p)),
        api(std::move(a)),
        cache(options.cluster, options.extra_gpu_resources, options.other_schedulers,
              options.fatal_conditions, options.topology_labels, options.node_labels,
              options.system_namespaces),
        inbox(std::make_shared<Inbox>([to = api.get()] { to->wake(); })) {
    if (options.ignores_unknown_claims) cache.needs().claims().ignore_unknown();
  }

  const EdgeOptions options;
  // The ports of the service. The edge's thread may call them.
  const EdgePorts ports;
  // Never nullptr.
  const std::unique_ptr<KubeApi> api;
  ClusterCache cache;
  // The ProvisioningRequests of Subak. Only the Provisioner writes into it.
  RequestCache requests{};
  // Shared with pending replies, which may outlive the edge.
  const std::shared_ptr<Inbox> inbox;
};

// Returns the time from `now_ms` until `due_ms`, but at least 0 and at most limits::kLoopMaxWaitMs.
// Both times are monotonic.
inline DurationMs wait_until(std::int64_t due_ms, std::int64_t now_ms) {
  return std::clamp<DurationMs>(due_ms - now_ms, 0, limits::kLoopMaxWaitMs);
}

}  // namespace subak

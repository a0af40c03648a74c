#include "server/service/edges.h"

#include <cstdlib>
#include <iterator>

#include "admission/policy_config.h"
#include "core/names.h"
#include "server/edge/client/known_client.h"
#include "server/edge/client/kubeconfig_file.h"
#include "server/log/log.h"

namespace subak {
namespace {

constexpr const char* kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

Result<KubeAccess> access_as_pod() {
  return in_cluster_access(variable("KUBERNETES_SERVICE_HOST"), variable("KUBERNETES_SERVICE_PORT"),
                           kServiceAccount);
}

Result<KubeAccess> access_of(const ClusterConfig& cluster) {
  return cluster.in_cluster ? access_as_pod()
                            : read_kubeconfig_file(cluster.kubeconfig, cluster.context);
}

// Credentials expire by the machine's clock: a sampled clock may go back a little.
std::unique_ptr<KubeApi> client_of(KubeAccess access, const Clock& clock,
                                   std::function<void(const Error&)> tell) {
  return std::make_unique<KnownClient>(
      std::move(access), [&clock] { return clock.wall_ms(); }, std::move(tell));
}

bool by_flags(const Config& config) { return config.in_cluster || !config.kubeconfig.empty(); }

Error no_one_cluster(const Config& config, const View& view) {
  std::string names;
  for (const ClusterView& cluster : *view.clusters)
    names += (names.empty() ? "" : ", ") + cluster.name;
  const char* const key = config.in_cluster ? "inCluster" : "kubeconfig";
  const char* const flag = config.in_cluster ? "--in-cluster" : "--kubeconfig";
  const std::string count = std::to_string(view.clusters->size());
  return {ErrorCode::kPrecondition, key,
          "set without the name of a cluster, and there are " + count + ": " + names,
          std::string("want the name of the cluster whose API server it reaches: --cluster NAME "
                      "together with ") +
              flag + ", or " + key +
              " in the cluster's entry of clusters; to remove an unused cluster: " +
              "subak cluster delete NAME"};
}

// Returns the cluster that the flags connect to: the named one, else the only one. A standby may
// get here before the first cluster is made.
Result<std::string> reached_by_flags(const Config& config, const View& view) {
  if (!config.clusters.empty()) return config.clusters.front().name;
  if (view.clusters->empty()) return std::string(names::kFirstCluster);
  const ClusterView* const only = view.cluster("");
  return only != nullptr ? Result<std::string>(only->name) : no_one_cluster(config, view);
}

// Returns the clusters of the list, and the one that the flags connect to.
Result<std::vector<ClusterConfig>> reached(const Config& config, const View& view) {
  std::vector<ClusterConfig> out;
  for (const ClusterConfig& cluster : config.clusters) {
    if (cluster.has_edge()) out.push_back(cluster);
  }
  if (!by_flags(config)) return out;
  const Result<std::string> name = reached_by_flags(config, view);
  if (!name) return name.error();
  ClusterConfig& cluster = out.emplace_back();
  cluster.name = *name;
  cluster.kubeconfig = config.kubeconfig;
  cluster.in_cluster = config.in_cluster;
  return out;
}

}  // namespace

std::vector<std::string> own_edges(const Config& config) {
  std::vector<std::string> names;
  for (const ClusterConfig& cluster : config.clusters) {
    if (cluster.has_edge()) names.push_back(cluster.name);
  }
  if (by_flags(config))
    names.push_back(config.clusters.empty() ? "" : config.clusters.front().name);
  return names;
}

Result<std::vector<NamedEdge>> make_edges(const Config& config, const View& view,
                                          const EdgePorts& ports, const Clock& clock) {
  std::vector<NamedEdge> edges;
  const Result<std::vector<ClusterConfig>> clusters = reached(config, view);
  if (!clusters) return clusters.error();
  for (const ClusterConfig& cluster : *clusters) {
    Result<KubeAccess> access = access_of(cluster);
    if (!access) {
      Error error = access.error();
      error.field = "clusters." + cluster.name + ": " + error.field;
      return error;
    }
    EdgeOptions options;
    options.cluster = cluster.name;
    options.extra_gpu_resources = config.gpu_kinds;
    options.topology_labels = config.topology_labels;
    options.node_labels = config.node_labels;
    options.system_namespaces = config.system_namespaces;
    options.ignores_unknown_claims = config.claims.devices == DeviceClaims::kWarn;
    options.protects_gangs = config.webhook.protect_gangs;
    if (config.fatal_conditions) options.fatal_conditions = *config.fatal_conditions;
    options.other_schedulers = AdmissionConfig().other_schedulers;
    auto api =
        client_of(std::move(access).value(), clock, [name = cluster.name](const Error& error) {
          log::warn("edge", {{"cluster", name}, {"error", error.message()}});
        });
    edges.push_back(
        {cluster.name, std::make_unique<Edge>(std::move(options), ports, std::move(api))});
  }
  return edges;
}

Result<std::unique_ptr<PodLabel>> make_pod_label(const Config& config, const Clock& clock) {
  if (config.own_pod.empty()) return std::unique_ptr<PodLabel>();
  Result<KubeAccess> access = access_as_pod();
  if (!access) {
    Error error = access.error();
    error.field = "ownPod: " + error.field;
    return error;
  }
  auto api = client_of(std::move(access).value(), clock, [](const Error& error) {
    log::warn("the pod is not labelled", {{"error", error.message()}});
  });
  return std::make_unique<PodLabel>(std::move(api), config.own_pod,
                                    [&clock] { return clock.monotonic_ms(); });
}

std::string edge_warning(const std::string& cluster, const EdgeStats& stats) {
  const std::string name = "cluster " + cluster;
  if (!stats.error.empty()) {
    return name + (stats.listed ? " is followed with gaps: " : " is not followed: ") + stats.error;
  }
  if (!stats.listed) return name + " is being listed: Subak does not know all its objects yet";
  return stats.synced ? ""
                      : name + " is not watched at this moment: the edge opens its watches again";
}

std::vector<std::string> edge_warnings(const std::vector<NamedEdge>& edges) {
  std::vector<std::string> out;
  for (const NamedEdge& named : edges) {
    const std::string warning = edge_warning(named.cluster, named.edge->stats());
    if (!warning.empty()) out.push_back(warning);
  }
  return out;
}

std::vector<metrics::EdgeState> edge_states(const std::vector<NamedEdge>& edges) {
  std::vector<metrics::EdgeState> out;
  for (const NamedEdge& named : edges) {
    const EdgeStats stats = named.edge->stats();
    metrics::EdgeState& state = out.emplace_back();
    state.cluster = named.cluster;
    state.follows = stats.synced;
    state.lists = stats.lists;
    for (std::size_t kind = 0; kind < stats.writes.size(); ++kind) {
      state.writes.emplace_back(EnumText<WriteKind>::names[kind], stats.writes[kind]);
    }
    state.refused = stats.refused;
    state.opened_outside = stats.opened_outside;
    state.unreadable = stats.unreadable;
    state.put_off = stats.put_off;
    state.clock_behind_ms = stats.clock_behind_ms;
    state.not_taken = stats.not_taken;
    state.events = stats.events;
    state.domains = stats.domains.rows ? stats.domains.rows->size() : 0;
    state.late_domain_nodes = stats.domains.late_nodes;
  }
  return out;
}

std::shared_ptr<const std::vector<ComputeDomainRow>> edge_domains(
    const std::vector<NamedEdge>& edges, std::string_view cluster) {
  for (const NamedEdge& named : edges) {
    if (named.cluster == cluster || (cluster.empty() && edges.size() == 1))
      return named.edge->stats().domains.rows;
  }
  return nullptr;
}

}  // namespace subak

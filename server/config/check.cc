#include <algorithm>
#include <array>
#include <set>

#include "server/config/config.h"
#include "server/config/settings.h"

namespace subak {
namespace {

std::optional<Error> check_tls(const Config& config) {
  if (config.tls_cert.empty() == config.tls_key.empty()) return std::nullopt;
  if (config.tls_cert.empty()) {
    return Error{ErrorCode::kInvalid, "tlsKey", config.tls_key, "want it together with tlsCert"};
  }
  return Error{ErrorCode::kInvalid, "tlsCert", config.tls_cert, "want it together with tlsKey"};
}

std::optional<Error> check_clusters(const Config& config) {
  std::set<std::string> names;
  for (const ClusterConfig& cluster : config.clusters) {
    if (!names.insert(cluster.name).second) {
      return Error{ErrorCode::kInvalid, "clusters", cluster.name, "want each cluster once"};
    }
  }
  return std::nullopt;
}

std::optional<Error> check_pools(const Config& config) {
  for (const NodePool& pool : config.queue.node_pools) {
    const bool known = std::any_of(config.clusters.begin(), config.clusters.end(),
                                   [&](const ClusterConfig& c) { return c.name == pool.cluster; });
    const bool only = pool.cluster.empty() && config.clusters.size() <= 1;
    if (known || only || config.clusters.empty()) continue;
    return Error{ErrorCode::kInvalid, "nodePools", pool.name + ": cluster " + pool.cluster,
                 "want the name of one of the clusters"};
  }
  return std::nullopt;
}

std::optional<Error> check_edges(const Config& config) {
  for (const ClusterConfig& cluster : config.clusters) {
    if (!cluster.kubeconfig.empty() && cluster.in_cluster) {
      return Error{ErrorCode::kInvalid, "clusters", cluster.name,
                   "want kubeconfig or inCluster, not both"};
    }
    if (!cluster.context.empty() && cluster.kubeconfig.empty()) {
      return Error{ErrorCode::kInvalid, "clusters", cluster.name,
                   "want a context together with its kubeconfig"};
    }
  }
  const char* const key = config.in_cluster ? "inCluster" : "kubeconfig";
  if (!config.in_cluster && config.kubeconfig.empty()) return std::nullopt;
  if (config.in_cluster && !config.kubeconfig.empty()) {
    return Error{ErrorCode::kInvalid, key, "true", "want kubeconfig or inCluster, not both"};
  }
  const bool one = config.clusters.size() == 1 && !config.clusters[0].has_edge();
  if (one || config.clusters.empty()) return std::nullopt;
  return Error{ErrorCode::kInvalid, key, config.in_cluster ? "true" : config.kubeconfig,
               "want exactly one cluster, whose own entry has neither kubeconfig nor inCluster"};
}

std::optional<Error> check_callers(const Config& config) {
  if (config.grpc_socket.empty() && !config.socket_users.empty()) {
    return Error{ErrorCode::kInvalid, "socketUsers", "", "want it together with grpcSocket"};
  }
  if (config.loopback_admin || !config.tokens.empty() || !config.grpc_socket.empty()) {
    return std::nullopt;
  }
  return Error{ErrorCode::kInvalid, "loopbackAdmin", "false",
               "want a tokens file or a grpcSocket: no client could call"};
}

// Beyond loopback, every change needs an authenticated caller, and no secret travels unencrypted.
std::optional<Error> check_reach(const Config& config) {
  if (config.listen_grpc.loopback()) return std::nullopt;
  if (config.tls_cert.empty()) {
    return Error{ErrorCode::kInvalid, "listenGrpc", config.listen_grpc.text(),
                 "want a loopback address, or tlsCert and tlsKey"};
  }
  if (config.tokens.empty()) {
    return Error{ErrorCode::kInvalid, "listenGrpc", config.listen_grpc.text(),
                 "want a loopback address, or a tokens file"};
  }
  return std::nullopt;
}

// Only together do the labels say what a node aligns.
std::optional<Error> check_numa_labels(const Config& config) {
  const auto& [fabric, policy, gpus, cpus, fail] = config.node_labels;
  if (policy.empty() && !(gpus.empty() && cpus.empty())) {
    return Error{ErrorCode::kInvalid, gpus.empty() ? "numaCpusLabel" : "numaGpusLabel",
                 gpus.empty() ? cpus : gpus, "want it together with numaPolicyLabel"};
  }
  if (policy.empty() || !gpus.empty() || !cpus.empty()) return std::nullopt;
  return Error{ErrorCode::kInvalid, "numaPolicyLabel", policy,
               "want numaGpusLabel or numaCpusLabel beside it"};
}

std::optional<Error> check_prometheus(const Config& config) {
  const auto wrong = [](const char* key, const std::string& got, const char* want) {
    return Error{ErrorCode::kInvalid, key, got, want};
  };
  if (config.prometheus.empty()) {
    if (!config.prometheus_ca.empty()) {
      return wrong("prometheusCa", config.prometheus_ca, "want it together with prometheus");
    }
    if (config.prometheus_token.empty()) return std::nullopt;
    return wrong("prometheusToken", config.prometheus_token, "want it together with prometheus");
  }
  const bool safe = config.prometheus.starts_with("https://") ||
                    config.prometheus.starts_with("http://127.0.0.1:") ||
                    config.prometheus.starts_with("http://localhost:");
  if (safe || config.prometheus_token.empty()) return std::nullopt;
  return wrong("prometheus", config.prometheus,
               "want https, since prometheusToken must not travel unencrypted");
}

std::optional<Error> check_follow(const Config& config) {
  const auto wrong = [](const char* key, const std::string& got, const char* want) {
    return Error{ErrorCode::kInvalid, key, got, want};
  };
  if (config.follow.empty()) {
    if (!config.follow_ca.empty()) {
      return wrong("followCa", config.follow_ca, "want it together with follow");
    }
    if (config.follow_token.empty()) return std::nullopt;
    return wrong("followToken", config.follow_token, "want it together with follow");
  }
  if (config.tls_cert.empty()) {
    return wrong("follow", config.follow,
                 "want tlsCert and tlsKey beside it: a replica makes no certificate that the API "
                 "server would trust");
  }
  const Result<ListenAddress> address = parse_listen_address(config.follow);
  if ((address && address->loopback()) || !config.follow_token.empty()) return std::nullopt;
  return wrong(
      "follow", config.follow,
      "want followToken beside it: beyond loopback a leader refuses calls without a token");
}

// The keys that a webhook-only replica accepts. The others belong to the leader or need a state.
constexpr std::array<std::string_view, 11> kReplicaKeys{
    "follow",  "followCa", "followToken", "listenWebhook", "listenHttp", "httpHosts",
    "tlsCert", "tlsKey",   "gpuKinds",    "deviceClaims",  "logLevel"};

}  // namespace

std::optional<Error> check_replica_keys(const Config& config, std::span<const Origin> origins) {
  if (config.follow.empty()) return std::nullopt;
  for (const Origin& origin : origins) {
    if (std::find(kReplicaKeys.begin(), kReplicaKeys.end(), origin.key) != kReplicaKeys.end()) {
      continue;
    }
    return Error{
        ErrorCode::kInvalid, origin.key, "",
        "want no such key beside follow: a webhook-only replica has no state, and gets the "
        "data for its decisions from the leader"};
  }
  return std::nullopt;
}

std::string Config::advertised() const {
  if (!advertise.empty()) return advertise;
  const bool is_any = listen_grpc.host == "0.0.0.0" || listen_grpc.host == "::";
  const bool is_told = !is_any && !listen_grpc.loopback() && listen_grpc.port != 0;
  return is_told ? listen_grpc.text() : std::string();
}

bool Config::follows_plainly() const {
  const Result<ListenAddress> address = parse_listen_address(follow);
  return follow_ca.empty() && address && address->loopback();
}

std::optional<Error> check_config(const Config& config) {
  if (auto error = check_tls(config)) return error;
  if (auto error = check_clusters(config)) return error;
  if (auto error = check_pools(config)) return error;
  if (auto error = check_edges(config)) return error;
  if (auto error = check_callers(config)) return error;
  if (auto error = check_numa_labels(config)) return error;
  if (auto error = check_follow(config)) return error;
  if (auto error = check_prometheus(config)) return error;
  return check_reach(config);
}

Policy Config::policy_over(const Policy& stored) const {
  Policy policy = stored;
  if (order) policy.order = *order;
  if (half_life_ms) want_half_life(policy, *half_life_ms);
  if (hold_ms) policy.hold_ms = *hold_ms;
  if (patience_ms) policy.patience_ms = *patience_ms;
  if (queue.reserve_jobs) policy.queue.reserve_jobs = *queue.reserve_jobs;
  if (queue.park_after) policy.queue.park_after = *queue.park_after;
  if (reclaim) policy.reclaim = *reclaim;
  if (reclaim_min_run_ms) policy.reclaim_min_run_ms = *reclaim_min_run_ms;
  if (reclaim_max_grace_ms) policy.reclaim_max_grace_ms = *reclaim_max_grace_ms;
  if (books.refund_lost_work_ms) policy.books.refund_lost_work_ms = *books.refund_lost_work_ms;
  if (books.budget_zone) policy.books.budget_zone = *books.budget_zone;
  if (books.month_open_days) {
    const std::uint32_t days = *books.month_open_days;
    policy.books.months.open_days = days == kMonthOpenDays ? 0 : days;
  }
  if (gangs.keep_whole) policy.gangs.keep_whole = *gangs.keep_whole;
  if (gangs.clique_gangs) policy.gangs.clique_gangs = *gangs.clique_gangs;
  if (gangs.ready_within_ms) policy.gangs.ready_within_ms = *gangs.ready_within_ms;
  if (headroom.cpu_milli) policy.gpu_headroom.cpu_milli = *headroom.cpu_milli;
  if (headroom.memory_bytes) policy.gpu_headroom.memory_bytes = *headroom.memory_bytes;
  if (target_share.gain_milli) policy.fair_share.gain_milli = *target_share.gain_milli;
  if (target_share.floor_milli) policy.fair_share.floor_milli = *target_share.floor_milli;
  if (enforce_time_limits) policy.enforce_time_limits = *enforce_time_limits;
  if (time_limit_grace_ms) policy.time_limit_grace_ms = *time_limit_grace_ms;
  if (default_time_limit_ms) policy.default_time_limit_ms = *default_time_limit_ms;
  policy.system_namespaces = system_namespaces;
  policy.priority_classes = priority_classes;
  policy.queue.node_pools = config::placed_pools(*this);
  return policy;
}

}  // namespace subak

#include "server/config/settings.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <functional>
#include <utility>

#include "core/duration.h"
#include "core/edge_limits.h"
#include "core/limits.h"
#include "kube/quantity.h"
#include "server/store/postgres/database/address.h"

namespace subak {
namespace config {

std::optional<Error> set(const Setting& setting, Config& config, std::string_view value) {
  if (auto error = check_text(value)) return error;
  return setting.set(config, value);
}

namespace {

using Found = std::optional<Error>;

Found set_state(Config& c, std::string_view v) {
  if (postgres::is_address(v)) {
    const auto address = postgres::parse_address(std::string(v));
    if (!address) return address.error();
  } else if (v.empty() || v.starts_with("postgres:") || v.starts_with("postgresql:")) {
    return bad_value(v, "a file such as var/subak.db, or postgres://user@host/database");
  }
  c.state = v;
  return std::nullopt;
}

template <ListenAddress Config::*field>
Found set_address(Config& c, std::string_view v) {
  Result<ListenAddress> parsed = parse_listen_address(v);
  if (!parsed) return parsed.error();
  c.*field = *parsed;
  return std::nullopt;
}

template <auto field>
Found set_text(Config& c, std::string_view v) {
  if (v.empty()) return bad_value(v, "a text");
  std::invoke(field, c) = v;
  return std::nullopt;
}

// Accepts a host name: gRPC resolves it for each connection.
template <std::string Config::*field>
Found set_host(Config& c, std::string_view v) {
  if (auto error = check_host(v)) return error;
  c.*field = v;
  return std::nullopt;
}

Found set_own_pod(Config& c, std::string_view v) {
  auto error = check_pod(v);
  if (!error) c.own_pod = v;
  return error;
}

template <class E, std::optional<E> Config::*field>
Found set_enum(Config& c, std::string_view v) {
  const Result<E> parsed = read_enum<E>(v);
  if (!parsed) return parsed.error();
  c.*field = *parsed;
  return std::nullopt;
}

// The service refuses the rule usage-tick: only the simulator has it, and no fact has its counters.
Found set_order(Config& c, std::string_view v) {
  if (v == enum_name(OrderPolicy::kUsageTick)) {
    return bad_value(v, "target-share, exact, drf or fifo (usage-tick is for subak sim)");
  }
  return set_enum<OrderPolicy, &Config::order>(c, v);
}

constexpr auto kAlignment = [](Config& c) -> Alignment& { return c.alignment.level; };
constexpr auto kDeviceClaims = [](Config& c) -> DeviceClaims& { return c.claims.devices; };
constexpr auto kOneReplica = [](Config& c) -> bool& { return c.node_labels.fail_greater_than_one; };
constexpr auto kUnknown = [](Config& c) -> UnknownCluster& { return c.webhook.unknown_cluster; };
constexpr auto kProtectGangs = [](Config& c) -> bool& { return c.webhook.protect_gangs; };
constexpr auto kKeepWhole = [](Config & c) -> auto& { return c.gangs.keep_whole; };
constexpr auto kCliques = [](Config & c) -> auto& { return c.gangs.clique_gangs; };
constexpr auto kReady = [](Config & c) -> auto& { return c.gangs.ready_within_ms; };
constexpr auto kReserveJobs = [](Config & c) -> auto& { return c.queue.reserve_jobs; };
constexpr auto kPrices = [](Config & c) -> auto& { return c.files.prices; };
constexpr auto kNotices = [](Config & c) -> auto& { return c.files.notices; };
constexpr auto kParkAfter = [](Config & c) -> auto& { return c.queue.park_after; };
constexpr auto kRefund = [](Config & c) -> auto& { return c.books.refund_lost_work_ms; };
constexpr auto kDomainsForNvlink = [](Config& c) -> bool& { return c.claims.domains_for_nvlink; };

// `field`: a member of Config, or a function that returns the field.
template <class E, auto field>
Found set_choice(Config& c, std::string_view v) {
  const Result<E> parsed = read_enum<E>(v);
  if (!parsed) return parsed.error();
  std::invoke(field, c) = *parsed;
  return std::nullopt;
}

struct Range {
  DurationMs least;
  DurationMs most;
};

template <auto field, Range range>
Found set_duration(Config& c, std::string_view v) {
  const Result<DurationMs> parsed = parse_duration(v, "");
  if (!parsed) return parsed.error();
  if (*parsed < range.least || *parsed > range.most) {
    return bad_value(v, "a duration from " + format_duration(range.least) + " to " +
                            format_duration(range.most));
  }
  std::invoke(field, c) = *parsed;
  return std::nullopt;
}

Found set_half_life(Config& c, std::string_view v) {
  if (v == "infinite") {
    c.half_life_ms = 0;
    return std::nullopt;
  }
  auto error = set_duration<&Config::half_life_ms, Range{kMinuteMs, 3650 * kDayMs}>(c, v);
  if (error) error->want += ", or infinite";
  return error;
}

Found set_gain(Config& c, std::string_view v) {
  constexpr auto kMost = limits::kMaxTargetGainMilli;
  return read_constant(v, kMost, TargetShareRule().gain, c.target_share.gain_milli);
}
Found set_floor(Config& c, std::string_view v) {
  return read_constant(v, 1000, TargetShareRule().lo, c.target_share.floor_milli);
}

Found add_gpu_kind(Config& c, std::string_view v) {
  const std::size_t slash = v.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == v.size() ||
      v.size() > limits::kMaxNameBytes) {
    return bad_value(v, "an extended resource such as example.com/gpu");
  }
  c.gpu_kinds.emplace_back(v);
  return std::nullopt;
}

Found add_topology_label(Config& c, std::string_view v) {
  if (auto error = check_label_key(v)) return error;
  if (c.topology_labels.size() >= limits::kTopologyLevels) {
    return bad_value(v, "at most " + std::to_string(limits::kTopologyLevels) + " labels");
  }
  if (std::find(c.topology_labels.begin(), c.topology_labels.end(), v) != c.topology_labels.end()) {
    return bad_value(v, "each label once");
  }
  c.topology_labels.emplace_back(v);
  return std::nullopt;
}

template <std::string NodeLabelKeys::*field>
Found set_label_key(Config& c, std::string_view v) {
  if (auto error = check_label_key(v)) return error;
  c.node_labels.*field = v;
  return std::nullopt;
}

Found add_alignment(Config& c, std::string_view v) {
  if (c.alignment.namespaces.size() >= limits::kMaxNamespaceModes) {
    return bad_value(v, "at most " + std::to_string(limits::kMaxNamespaceModes) + " entries");
  }
  Result<NamespaceAlignment> parsed = read_alignment(v);
  if (!parsed) return parsed.error();
  for (const NamespaceAlignment& other : c.alignment.namespaces) {
    if (other.ns == parsed->ns) return bad_value(v, "each namespace once");
  }
  c.alignment.namespaces.push_back(std::move(parsed).value());
  return std::nullopt;
}

// The end of the products of shared GPUs, and for slices nothing.
constexpr std::string_view kSharedEnd = "-SHARED", kSlicesEnd;

template <const std::string_view& product_end>
Found add_route(Config& c, std::string_view v) {
  if (c.routes.size() >= limits::kMaxNamespaceModes) {
    return bad_value(v, "at most " + std::to_string(limits::kMaxNamespaceModes) + " routes");
  }
  Result<GpuRoute> parsed = read_route(v, product_end);
  if (!parsed) return parsed.error();
  for (const GpuRoute& other : c.routes) {
    if (other.ns == parsed->ns && other.priority_class == parsed->priority_class) {
      return bad_value(v, "each namespace and class in one route");
    }
  }
  c.routes.push_back(std::move(parsed).value());
  return std::nullopt;
}

// The routes of both settings are in one list.
template <bool shared>
void clear_routes(Config& c) {
  std::erase_if(c.routes,
                [](const GpuRoute& r) { return r.product.ends_with(kSharedEnd) == shared; });
}

Found add_system_namespace(Config& c, std::string_view v) {
  if (auto error = check_name(v)) return error;
  c.system_namespaces.emplace_back(v);
  return std::nullopt;
}

Found add_priority_class(Config& c, std::string_view v) {
  Result<PriorityClass> parsed = read_class(v);
  if (!parsed) return parsed.error();
  return add_class(c, std::move(parsed).value());
}

Found add_cluster(Config& c, std::string_view v) {
  Result<ClusterConfig> parsed = read_cluster(v);
  if (!parsed) return parsed.error();
  c.clusters.push_back(std::move(parsed).value());
  return std::nullopt;
}

// Sets a field that is a bool or an optional bool.
template <auto field>
Found set_bool(Config& c, std::string_view v) {
  if (v != "true" && v != "false") return bad_value(v, "true or false");
  std::invoke(field, c) = v == "true";
  return std::nullopt;
}

Found set_reclaim(Config& c, std::string_view v) {
  if (v != "on" && v != "off") return bad_value(v, "on or off");
  c.reclaim = v == "on";
  return std::nullopt;
}

template <auto field, std::uint32_t most>
Found set_number(Config& c, std::string_view v) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(v.data(), v.data() + v.size(), number);
  if (error != std::errc() || end != v.data() + v.size() || number > most) {
    return bad_value(v, "a number up to " + std::to_string(most));
  }
  std::invoke(field, c) = number;
  return std::nullopt;
}

Found add_socket_user(Config& c, std::string_view v) {
  std::uint32_t user = 0;
  const auto [end, error] = std::from_chars(v.data(), v.data() + v.size(), user);
  if (error != std::errc() || end != v.data() + v.size()) return bad_value(v, "a user id");
  c.socket_users.push_back(user);
  return std::nullopt;
}

constexpr std::array kSettings{
    Setting{"state", "--state", "FILE|URI", "the store: a file, or postgres://user@host/database",
            false, false, set_state},
    Setting{"databaseDurability", "--database-durability", "WHAT",
            "replicated: refuse a database server without synchronous standbys; local: accept it",
            false, false, set_choice<DatabaseDurability, &Config::database_durability>},
    Setting{
        "knownFolder", "--known-folder", "FOLDER",
        "folder for this replica's own files if the store is a database; without this setting, var",
        false, false, set_text<&Config::known_folder>},
    Setting{"listenWebhook", "--listen-webhook", "ADDRESS:PORT",
            "address of the admission webhook, HTTPS", false, false,
            set_address<&Config::listen_webhook>},
    Setting{"listenGrpc", "--listen-grpc", "ADDRESS:PORT", "address of the gRPC API", false, false,
            set_address<&Config::listen_grpc>},
    Setting{"advertise", "--advertise", "HOST:PORT",
            "address at which clients reach this replica's gRPC API while it leads", false, false,
            set_host<&Config::advertise>},
    Setting{"ownPod", "--own-pod", "NAMESPACE/NAME",
            "the pod of this process, which has the label subak.gpu/leader while the process leads",
            false, false, set_own_pod},
    Setting{"listenHttp", "--listen-http", "ADDRESS:PORT", "address of metrics, health and console",
            false, false, set_address<&Config::listen_http>},
    Setting{
        "httpHosts", "--http-host", "NAME",
        "another host name that the HTTP port accepts, in addition to IP addresses and localhost",
        true, false, add_http_host, [](Config& c) { c.http_hosts.clear(); }},
    Setting{"tlsCert", "--tls-cert", "FILE",
            "PEM certificate of all ports; without it, subakd makes one for the webhook alone",
            false, false, set_text<&Config::tls_cert>},
    Setting{"tlsKey", "--tls-key", "FILE", "PEM private key of the certificate", false, false,
            set_text<&Config::tls_key>},
    Setting{"tokens", "--tokens", "FILE",
            "file with the bearer tokens of gRPC callers and browsers", false, false,
            set_text<&Config::tokens>},
    Setting{"loopbackAdmin", "--loopback-admin", "true|false",
            "whether each user of this machine is admin, as long as there are no tokens", false,
            false, set_bool<&Config::loopback_admin>},
    Setting{"follow", "--follow", "HOST:PORT",
            "serve only the webhook, from a copy of the state of the service at this address",
            false, false, set_host<&Config::follow>},
    Setting{"followCa", "--follow-ca", "FILE",
            "PEM file with the CA that signed the certificate of the service in --follow; without "
            "it, the system's CAs",
            false, false, set_text<&Config::follow_ca>},
    Setting{"followToken", "--follow-token", "FILE",
            "file with a bearer token of role viewer for the service in --follow", false, false,
            set_text<&Config::follow_token>},
    Setting{"grpcSocket", "--grpc-socket", "FILE",
            "Unix socket of the gRPC API; root and the service's user are admin there", false,
            false, set_text<&Config::grpc_socket>},
    Setting{"socketUsers", "--socket-user", "UID", "another user who is admin on the Unix socket",
            true, false, add_socket_user, [](Config& c) { c.socket_users.clear(); }},
    Setting{"mode", "--mode", "MODE",
            "mode of clusters without a mode of their own: observe, warn or enforce", false, false,
            set_enum<Mode, &Config::mode>},
    Setting{"clusters", "--cluster", "NAME[:MODE[:NAMESPACE=MODE,...]]", "a cluster to serve", true,
            false, add_cluster, [](Config& c) { c.clusters.clear(); }},
    Setting{"order", "--order", "POLICY", "order of the queue: target-share, exact, drf or fifo",
            false, false, set_order},
    Setting{"halfLife", "--half-life", "DURATION", "half-life of past usage, or infinite", false,
            false, set_half_life},
    Setting{"targetShareGain", "--target-share-gain", "NUMBER",
            "how strongly usage above quota lowers an account's target under target-share", false,
            false, set_gain},
    Setting{"targetShareFloor", "--target-share-floor", "NUMBER",
            "the least target of an account under target-share, as a part of its share", false,
            false, set_floor},
    Setting{"hold", "--hold", "DURATION", "how long a job may hold GPUs before its pods are bound",
            false, false, set_duration<&Config::hold_ms, Range{kSecondMs, 30 * kDayMs}>},
    Setting{"patience", "--patience", "DURATION",
            "how long a job waits at most before nodes may be reserved for it; 0s is never", false,
            false, set_duration<&Config::patience_ms, Range{0, 365 * kDayMs}>},
    Setting{"reserveJobs", "--reserve-jobs", "N",
            "the most jobs of a cluster that have reserved nodes at the same time; 0 is none",
            false, false, set_number<kReserveJobs, limits::kMaxReserveJobs>},
    Setting{
        "parkAfter", "--park-after", "N",
        "gated pods of an account that may wait; beyond them new Jobs wait suspended; 0 is always",
        false, false, set_number<kParkAfter, limits::kMaxParkAfter>},
    Setting{"reclaim", "--reclaim", "on|off",
            "whether jobs within quota take GPUs back from jobs that borrow them", false, false,
            set_reclaim},
    Setting{"reclaimMinRun", "--reclaim-min-run", "DURATION",
            "how long a job runs before it may be asked to give GPUs back", false, false,
            set_duration<&Config::reclaim_min_run_ms, Range{0, 365 * kDayMs}>},
    Setting{"reclaimMaxGrace", "--reclaim-max-grace", "DURATION",
            "the longest grace period that a claim waits for; a longer period counts as this value",
            false, false, set_duration<&Config::reclaim_max_grace_ms, Range{0, kDayMs}>},
    Setting{
        "refundLostWork", "--refund-lost-work", "DURATION",
        "how much run time of a preempted job the platform pays at most; 0s: the account pays all",
        false, false, set_duration<kRefund, Range{0, 365 * kDayMs}>},
    Setting{"budgetZone", "--budget-zone", "ZONE",
            "time zone of the periods of budgets: an IANA name such as Europe/Berlin, or UTC",
            false, false, set_budget_zone},
    Setting{"monthOpenDays", "--month-open-days", "N",
            "how many days after its end a UTC month closes: later entries for it count in an open "
            "month",
            false, false, set_month_open_days},
    Setting{"priorityClasses", "--priority-class", "NAME=VALUE[:preempts][:ACCOUNT,...]",
            "a priority class of jobs, and the accounts that may use it", true, false,
            add_priority_class, [](Config& c) { c.priority_classes.clear(); }},
    Setting{"nodePools", "--node-pool", "NAME:KEY=VALUE,...",
            "a pool of nodes that an autoscaler adds and removes", true, false, read_pool,
            [](Config& c) { c.queue.node_pools.clear(); }},
    Setting{"keepWhole", "--keep-whole", "N",
            "empty NVLink domains of each cluster and product left to gangs that need one; 0: none",
            false, false, set_number<kKeepWhole, limits::kMaxKeepWhole>},
    Setting{"cliqueGangs", "--clique-gangs", "N",
            "the most gangs with a ComputeDomain that share one NVLink domain; 0 is no limit",
            false, false, set_number<kCliques, limits::kMaxCliqueGangs>},
    Setting{"readyWithin", "--ready-within", "DURATION",
            "how long pods of a started job may be not Ready before it waits again; 0s is no limit",
            false, false, set_duration<kReady, Range{0, 30 * kDayMs}>},
    Setting{"cpuPerGpu", "--cpu-per-gpu", "CPUS",
            "CPUs to reserve for each free GPU of a node; pods without GPUs may not take them; 0 "
            "is none",
            false, false, set_cpu_per_gpu},
    Setting{"memoryPerGpu", "--memory-per-gpu", "MEMORY",
            "memory to reserve for each free GPU of a node; pods without GPUs may not take it; 0 "
            "is none",
            false, false, set_memory_per_gpu},
    Setting{"enforceTimeLimits", "--enforce-time-limits", "true|false",
            "whether to end jobs at their time limits; an account may override this setting", false,
            false, set_bool<&Config::enforce_time_limits>},
    Setting{"timeLimitGrace", "--time-limit-grace", "DURATION",
            "how long a job may run beyond an enforced time limit before Subak asks it to end",
            false, false, set_duration<&Config::time_limit_grace_ms, Range{0, 30 * kDayMs}>},
    Setting{"defaultTimeLimit", "--default-time-limit", "DURATION",
            "run time that Subak assumes for a job without a time limit; 0s means no end", false,
            false, set_duration<&Config::default_time_limit_ms, Range{0, 365 * kDayMs}>},
    Setting{"gpuKinds", "--gpu-kind", "RESOURCE", "another resource that counts as a GPU", true,
            false, add_gpu_kind, [](Config& c) { c.gpu_kinds.clear(); }},
    Setting{"fatalConditions", "--fatal-condition", "TYPE",
            "a node condition that, when True, stops new pods; these conditions replace the "
            "built-in ones",
            true, false, add_fatal_condition, [](Config& c) { c.fatal_conditions.emplace(); }},
    Setting{
        "topologyLabels", "--topology-label", "KEY",
        "a node label that names a group of nodes, such as a rack; list the nearest group first",
        true, false, add_topology_label, [](Config& c) { c.topology_labels.clear(); }},
    Setting{"rdmaFabricLabel", "--rdma-fabric-label", "KEY",
            "the node label that names the RDMA fabric; a gang that asks for RDMA uses one fabric",
            false, false, set_label_key<&NodeLabelKeys::fabric>},
    Setting{"numaPolicyLabel", "--numa-policy-label", "KEY",
            "the node label with the kubelet's topologyManagerPolicy", false, false,
            set_label_key<&NodeLabelKeys::numa_policy>},
    Setting{"numaGpusLabel", "--numa-gpus-label", "KEY",
            "the node label with the number of GPUs of one NUMA node", false, false,
            set_label_key<&NodeLabelKeys::numa_gpus>},
    Setting{"numaCpusLabel", "--numa-cpus-label", "KEY",
            "the node label with the number of CPUs of one NUMA node", false, false,
            set_label_key<&NodeLabelKeys::numa_cpus>},
    Setting{"failRequestsGreaterThanOne", "--fail-requests-greater-than-one", "true|false",
            "whether the device plugins fail requests for several replicas of a shared GPU", false,
            false, set_bool<kOneReplica>},
    Setting{"alignment", "--alignment", "off|warn|deny",
            "what happens to pods of several GPUs that their nodes cannot align", false, false,
            set_choice<Alignment, kAlignment>},
    Setting{
        "alignmentNamespaces", "--alignment-namespace", "NAMESPACE=off|warn|deny",
        "alignment of a namespace; the first entry that matches counts, and a * may end the name",
        true, false, add_alignment, [](Config& c) { c.alignment.namespaces.clear(); }},
    Setting{"migRouting", "--mig-routing", "namespace=NAME:PRODUCT",
            "sends pods of one GPU of a namespace, or PriorityClass (class=NAME), to MIG slices",
            true, false, add_route<kSlicesEnd>, clear_routes<false>},
    Setting{"sharedRouting", "--shared-routing", "namespace=NAME:PRODUCT",
            "sends pods of one GPU of a namespace, or PriorityClass (class=NAME), to shared GPUs",
            true, false, add_route<kSharedEnd>, clear_routes<true>},
    Setting{"systemNamespaces", "--system-namespace", "NAME",
            "another namespace whose pods Subak does not gate; the platform pays for these pods",
            true, false, add_system_namespace, [](Config& c) { c.system_namespaces.clear(); }},
    Setting{"breakGlassGroup", "--break-glass-group", "GROUP",
            "the group whose members may remove Subak's gate", false, false,
            set_text<&Config::break_glass_group>},
    Setting{"deviceClaims", "--device-claims", "gate|deny|warn",
            "what happens to pods that ask for devices by a ResourceClaim (DRA)", false, false,
            set_choice<DeviceClaims, kDeviceClaims>},
    Setting{"computeDomainsForNvlink", "--compute-domains-for-nvlink", "",
            "make a ComputeDomain for each gang that needs nvlink over several nodes", false, true,
            set_bool<kDomainsForNvlink>},
    Setting{"unknownCluster", "--unknown-cluster", "warn|deny",
            "what happens to GPU pods if the webhook's address names no known cluster", false,
            false, set_choice<UnknownCluster, kUnknown>},
    Setting{"podPriorityClass", "--pod-priority-class", "NAME",
            "the PriorityClass that each gated pod gets, such as subak-gpu", false, false,
            set_pod_class},
    Setting{"protectGangs", "--protect-gangs", "",
            "ask autoscalers not to remove the nodes of gangs", false, true,
            set_bool<kProtectGangs>},
    Setting{"queueAccounts", "--queue-account", "[NAMESPACE/]QUEUE=ACCOUNT",
            "the account of a queue of Kueue, KAI or Volcano", true, false, add_queue_account,
            [](Config& c) { c.webhook.queue_accounts.clear(); }},
    Setting{"logLevel", "--log-level", "LEVEL", "debug, info, warn or error", false, false,
            set_choice<LogLevel, &Config::log_level>},
    Setting{"userMetrics", "--user-metrics", "", "export metrics for each user on /metrics", false,
            true, set_bool<&Config::user_metrics>},
    Setting{"prometheus", "--prometheus", "URL",
            "a Prometheus server with DCGM's metrics, from which Subak learns which GPUs are idle",
            false, false, set_prometheus},
    Setting{"prometheusToken", "--prometheus-token", "FILE",
            "file with a bearer token for the Prometheus server", false, false,
            set_text<&Config::prometheus_token>},
    Setting{"prometheusCa", "--prometheus-ca", "FILE",
            "PEM file with the CA that signed the certificate of the Prometheus server", false,
            false, set_text<&Config::prometheus_ca>},
    Setting{
        "prometheusEvery", "--prometheus-every", "DURATION",
        "the time from one query of the Prometheus server to the next", false, false,
        set_duration<&Config::prometheus_every_ms, Range{kSecondMs, limits::kActivityCoversMs}>},
    Setting{"idleWarnAfter", "--idle-warn-after", "DURATION",
            "how long all GPUs of a job may be idle before its owner gets an Event; 0s is never",
            false, false, set_duration<&Config::idle_warn_ms, Range{0, 30 * kDayMs}>},
    Setting{"showIdleHolders", "--show-idle-holders", "true|false",
            "whether subak why names the jobs that hold idle GPUs", false, false,
            set_bool<&Config::show_idle_holders>},
    Setting{"prices", "--prices", "FILE", "price list of GPUs and energy, for the metrics of cost",
            false, false, set_text<kPrices>},
    Setting{"notices", "--notices", "FILE", "file with the receivers of notices: webhooks of teams",
            false, false, set_text<kNotices>},
    Setting{"ignoreCheckpoint", "--ignore-checkpoint", "",
            "for one start after damage: rebuild the state from all facts", false, true,
            set_bool<&Config::ignore_checkpoint>},
    Setting{"kubeconfig", "--kubeconfig", "FILE",
            "kubeconfig for the API server of the only cluster", false, false,
            set_text<&Config::kubeconfig>},
    Setting{"inCluster", "--in-cluster", "",
            "subakd is a pod of the only cluster, and uses the service account of its pod", false,
            true, set_bool<&Config::in_cluster>},
};

}  // namespace
}  // namespace config

std::span<const Setting> settings() { return config::kSettings; }

}  // namespace subak

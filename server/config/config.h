// The configuration that a process starts with. The configuration comes from a YAML file
// (`apiVersion: subak.gpu/v1`, `kind: Configuration`) and from flags. A flag takes precedence over
// the file. Each key of the file has a flag, and each flag has a key (settings()). If a key is
// unknown or a value is bad, the process does not start. The error names the file, the line, the
// key, the value found and the value expected.
//
// Users may edit clusters, modes and policy while the service runs, so these values are optional
// here. A start applies only the values that the file or a flag has. So a restart does not undo an
// edit of any other value. Threads: plain values, which main fills once.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "admission/policy_config.h"
#include "core/error.h"
#include "core/quantity.h"
#include "kube/node/node_gpus.h"
#include "model/input.h"
#include "server/log/log.h"

namespace subak {

// An address on which the service listens. With port 0 the system chooses a port, and a log line at
// the start shows that port.
struct ListenAddress {
  // An IP address, IPv6 without brackets.
  std::string host;
  std::uint16_t port = 0;
  // True if only this machine can reach the address.
  bool loopback() const;
  // Returns the form that parse_listen_address() reads: "127.0.0.1:9443", "[::1]:9443".
  std::string text() const;
  friend bool operator==(const ListenAddress&, const ListenAddress&) = default;
};
// Reads "ADDRESS:PORT". The name "localhost" means 127.0.0.1. Other names are refused, so that the
// address does not depend on a resolver.
Result<ListenAddress> parse_listen_address(std::string_view text);

// One cluster of the configuration.
struct ClusterConfig {
  // The cluster's name, which is a Kubernetes DNS label. No two clusters have the same name.
  std::string name;
  // The cluster's mode: observe, warn or enforce. Unset: Config::mode applies, or the stored mode
  // if Config::mode is unset too.
  std::optional<Mode> mode;
  // The modes of single namespaces, sorted by name.
  std::vector<NamespaceMode> namespaces{};
  // How the service's own edge (the code that follows the cluster) reaches the API server: by a
  // kubeconfig and a context in it, or as a pod (`in_cluster`). An empty `context` means the
  // current context of the kubeconfig. Without a kubeconfig and `in_cluster`, only an external edge
  // can follow the cluster.
  std::string kubeconfig{}, context{};
  bool in_cluster = false;
  // True if the service has an edge of its own for the cluster.
  bool has_edge() const { return !kubeconfig.empty() || in_cluster; }
  friend bool operator==(const ClusterConfig&, const ClusterConfig&) = default;
};

// The worst failure that a commit survives, if the state is in a database.
enum class DatabaseDurability : std::uint8_t {
  // A commit survives the loss of the database server's machine, because a synchronous standby has
  // the commit too.
  kReplicated,
  // A commit survives a crash of the database server.
  kLocal,
};
template <>
struct EnumText<DatabaseDurability> {
  static constexpr std::array<std::string_view, 2> names{"replicated", "local"};
};

// Says how the webhook treats pods with ResourceClaims. The fields are those of AdmissionConfig.
struct ClaimConfig {
  DeviceClaims devices = DeviceClaims::kGate;
  bool domains_for_nvlink = false;
};

// Says how the webhook treats pods. The fields are those of AdmissionConfig.
struct WebhookConfig {
  UnknownCluster unknown_cluster = UnknownCluster::kWarn;
  std::string pod_priority_class;
  bool protect_gangs = false;
  std::vector<QueueAccount> queue_accounts;
};

// The values of AdmissionConfig::alignment and alignment_namespaces.
struct AlignmentConfig {
  Alignment level = Alignment::kWarn;
  std::vector<NamespaceAlignment> namespaces;
};

// Values of GangSettings (model/policy.h), under the same names. Unset: the stored value stays.
struct GangConfig {
  std::optional<std::uint32_t> keep_whole, clique_gangs;
  std::optional<DurationMs> ready_within_ms;
};

// Values of BookPolicy (model/policy.h), under the same names. Unset: the stored value stays.
struct BookConfig {
  std::optional<DurationMs> refund_lost_work_ms;
  std::optional<std::string> budget_zone;
  std::optional<std::uint32_t> month_open_days;
};

// Values of QueueSettings (model/policy.h), under the same names. Unset: the stored value stays.
// The configured pools always replace the stored pools.
struct QueueConfig {
  std::optional<std::uint32_t> reserve_jobs, park_after;
  std::vector<NodePool> node_pools{};
};

// Values of Policy::gpu_headroom and Policy::fair_share. An unset value leaves the stored value.
struct HeadroomConfig {
  std::optional<std::int64_t> cpu_milli, memory_bytes;
};
struct TargetShareConfig {
  std::optional<std::uint32_t> gain_milli, floor_milli;
};

// Paths of files that the service reads beside the configuration.
struct FileConfig {
  // A price list (server/yaml/price_list.h) for the metrics; empty: no prices.
  std::string prices;
  // The receivers file (server/notify/receivers.h); empty: no notices are sent.
  std::string notices;
};

// All values of the configuration, with their defaults.
struct Config {
  // Where the state is: the path of a file, or the address of a database.
  std::string state = "var/subak.db";
  DatabaseDurability database_durability = DatabaseDurability::kReplicated;
  ListenAddress listen_webhook{"127.0.0.1", 9443};
  ListenAddress listen_grpc{"127.0.0.1", 9444};
  ListenAddress listen_http{"127.0.0.1", 9445};
  // Further host names under which the HTTP port answers requests. The port always answers requests
  // to IP addresses, localhost and the machine's name.
  std::vector<std::string> http_hosts;
  // The paths of the PEM files of the certificate and its key. Set both or neither.
  std::string tls_cert, tls_key;
  // The path of the token file. Empty: only callers on loopback are admitted, and these callers are
  // admins.
  std::string tokens;
  // False: callers on loopback are not admins. Without a token file, there is then no admin at all.
  bool loopback_admin = true;
  // If this process is a replica that serves only the webhook: HOST:PORT of the leader's gRPC API.
  // Else empty.
  std::string follow;
  // For `follow`, the paths of two files: the leader's CA in PEM, and a token for the leader.
  std::string follow_ca, follow_token;
  // HOST:PORT at which clients reach the gRPC API of this process while it leads. Empty:
  // advertised() derives the address from listen_grpc.
  std::string advertise;
  // Returns the address that clients get: `advertise`, or else listen_grpc if other machines can
  // use that address. Empty: clients get no address.
  std::string advertised() const;
  // NAMESPACE/NAME of the pod in which this process runs. The pod has a label while the process
  // leads. Empty: no pod gets a label.
  std::string own_pod;
  // If the state is in a database: the folder for this replica's own files. These files have the
  // last durable fact that the replica knows, and the data by which its webhook decides. Empty: the
  // folder var in the working directory.
  std::string known_folder;
  // The path of the Unix socket of the gRPC API; empty: there is no such socket.
  std::string grpc_socket;
  // The ids of further users that are admins on the socket. Root and the service's own user always
  // are.
  std::vector<std::uint32_t> socket_users;

  // The mode of clusters that name no mode.
  std::optional<Mode> mode;
  // The clusters. Empty: the service uses the clusters in the store; a new store gets
  // names::kFirstCluster.
  std::vector<ClusterConfig> clusters;
  // How the service reaches its cluster. These values are only for a service with one cluster whose
  // entry does not say how.
  std::string kubeconfig;
  bool in_cluster = false;
  // Values of the Policy (model/policy.h), under the same names. If a value is unset, the stored
  // value stays.
  std::optional<OrderPolicy> order;
  std::optional<DurationMs> half_life_ms, hold_ms, patience_ms;
  QueueConfig queue;
  std::optional<bool> reclaim;
  std::optional<DurationMs> reclaim_min_run_ms, reclaim_max_grace_ms;
  BookConfig books;
  GangConfig gangs;
  HeadroomConfig headroom;
  TargetShareConfig target_share;
  std::optional<bool> enforce_time_limits;
  std::optional<DurationMs> time_limit_grace_ms, default_time_limit_ms;

  // Extended resources that count like nvidia.com/gpu.
  std::vector<std::string> gpu_kinds;
  // A node with one of these conditions gets no new work. nullopt: the default conditions of
  // kube/node/node.h.
  std::optional<std::vector<std::string>> fatal_conditions;
  // The value of KubeNodeOptions::topology_labels.
  std::vector<std::string> topology_labels;
  // The value of KubeNodeOptions::labels.
  NodeLabelKeys node_labels;
  AlignmentConfig alignment;
  // The value of AdmissionConfig::routes.
  std::vector<GpuRoute> routes;
  // The value of Policy::system_namespaces. The configured list always replaces the stored list,
  // even if the configured list is empty.
  std::vector<std::string> system_namespaces;
  // The value of Policy::priority_classes. The configured classes always replace the stored classes
  // too.
  std::vector<PriorityClass> priority_classes;
  // Members of this group may remove Subak's gate.
  std::string break_glass_group = "subak:break-glass";
  ClaimConfig claims;
  WebhookConfig webhook;
  // Log lines below this level are not written.
  LogLevel log_level = LogLevel::kInfo;
  // True: the metrics have series for each user, in addition to those for other accounts.
  bool user_metrics = false;
  // `prometheus`: the address of a Prometheus server with DCGM's metrics; empty: activity is not
  // observed. `prometheus_token`: the path of a file with a bearer token for the server; empty: no
  // token. `prometheus_ca`: the path of a PEM file with the server's CA; empty: the system's CAs.
  std::string prometheus, prometheus_token, prometheus_ca;
  // The time from one query of the Prometheus server to the next.
  DurationMs prometheus_every_ms = kMinuteMs;
  // The owner of a job is warned once if its GPUs are idle for this long; 0: never.
  DurationMs idle_warn_ms = 30 * kMinuteMs;
  // True: `why` names the jobs with idle GPUs.
  bool show_idle_holders = false;
  FileConfig files;
  // True: this start rebuilds the state from all facts, and does not use the checkpoint.
  bool ignore_checkpoint = false;

  // True if this process follows the leader without TLS. The process follows without TLS if the
  // leader is on this machine and `follow_ca` is empty.
  bool follows_plainly() const;
  // Returns `stored`, after it has replaced each value that is set in this configuration.
  Policy policy_over(const Policy& stored) const;
};

// One key of the file, with its flag.
struct Setting {
  // The key in the file, such as "listenWebhook".
  std::string_view key;
  // The flag, such as "--listen-webhook".
  std::string_view flag;
  // The form of the value as the help shows it, such as "ADDRESS:PORT".
  std::string_view value;
  std::string_view help;
  // True: the value is a sequence in the file, and the flag may be repeated. If the flag is given,
  // its values replace the whole sequence of the file.
  bool list = false;
  // True: the flag needs no value.
  bool toggle = false;
  // Reads one value into the config. The field of an error is empty, since only the caller knows
  // whether the key or the flag was used.
  std::optional<Error> (*set)(Config&, std::string_view) = nullptr;
  // For a list: empties the list before the first value of the flag is read. nullptr for all other
  // settings.
  void (*clear)(Config&) = nullptr;
};
// Returns all settings, in the order of the help. The settings live as long as the process.
std::span<const Setting> settings();

// The result of reading a command line without mistakes.
struct StartRequest {
  // The values of the file and the flags, checked.
  Config config;
  // --check-config: exit after the check.
  bool check_only = false;
  // --help or --version was printed: exit with code 0.
  bool done = false;
};

// The mistakes in a command line or its file: one or more complete lines for stderr.
struct StartError {
  std::string text;
};
// Reads the file that --config names, then the flags, and checks the result. A flag takes
// precedence over the file. `out` gets the output of --help and --version. The function reads
// nothing else and changes nothing.
std::variant<StartRequest, StartError> read_start(int argc, const char* const* argv,
                                                  std::ostream& out);

// Says for one key where its value was set: "file:line", or the flag.
struct Origin {
  std::string key;
  std::string where;
};
// Sets the values of a YAML text in `config`, and appends each key that it set to `origins`.
// `file`: the name of the text in errors. Returns the first mistake, in the form `file:line: key:
// was "found", want expected`.
std::optional<std::string> apply_yaml(const std::string& text, std::string_view file,
                                      Config& config, std::vector<Origin>& origins);

// If `follow` is set, returns an error for the first key in `origins` that a webhook-only replica
// does not use, or whose value it gets from its leader.
std::optional<Error> check_replica_keys(const Config& config, std::span<const Origin> origins);

// Checks whether the values fit together: pairs of values that belong together, duplicates, and
// listeners that are not only on loopback. The field of an error is a key of the file.
std::optional<Error> check_config(const Config& config);

// The version of this program.
inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace subak

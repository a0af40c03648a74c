// The configuration that a process starts with. It comes from a YAML file (`apiVersion:
// subak.gpu/v1`, `kind: Configuration`) and from flags, which win. Each key has a flag and each
// flag a key (settings()). An unknown key or a bad value stops the start. The error names file,
// line, key, the value found and the value expected.
//
// Clusters, modes and policy may also be edited while the service runs, so they are optional here.
// A start applies only values that the file or a flag names. So a restart does not undo an edit of
// another value. Threads: plain values, filled once in main.
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
#include "model/input.h"
#include "server/log/log.h"

namespace subak {

// Where to listen. With port 0 the system chooses a port, and the log line of the start shows it.
struct ListenAddress {
  // An IP address, IPv6 without brackets.
  std::string host;
  std::uint16_t port = 0;
  // True if only this machine can reach it.
  bool loopback() const;
  // Returns the form that parse_listen_address() reads: "127.0.0.1:9443", "[::1]:9443".
  std::string text() const;
  friend bool operator==(const ListenAddress&, const ListenAddress&) = default;
};
// Reads "ADDRESS:PORT"; "localhost" is 127.0.0.1. Other names are refused, so that the address does
// not depend on a resolver.
Result<ListenAddress> parse_listen_address(std::string_view text);

// One cluster of the configuration.
struct ClusterConfig {
  // A Kubernetes DNS label. Each name occurs once.
  std::string name;
  // Unset: Config::mode; if that is unset too, the stored mode.
  std::optional<Mode> mode;
  // Sorted by name.
  std::vector<NamespaceMode> namespaces{};
  // How the service's own edge reaches the API server: by a kubeconfig and a context in it, or as a
  // pod in the cluster. An empty context means the kubeconfig's current one. With neither, only an
  // external edge can follow the cluster.
  std::string kubeconfig{}, context{};
  bool in_cluster = false;
  // True if the service has an edge of its own for the cluster.
  bool has_edge() const { return !kubeconfig.empty() || in_cluster; }
  friend bool operator==(const ClusterConfig&, const ClusterConfig&) = default;
};

// The failure that a commit survives if the state is in a database.
enum class DatabaseDurability : std::uint8_t {
  // The loss of the server's machine: a synchronous standby has the commit too.
  kReplicated,
  // A crash of the server.
  kLocal,
};
template <>
struct EnumText<DatabaseDurability> {
  static constexpr std::array<std::string_view, 2> names{"replicated", "local"};
};

// All values of the configuration, with their defaults.
struct Config {
  // Where the state is: a file, or the address of a database.
  std::string state = "var/subak.db";
  DatabaseDurability database_durability = DatabaseDurability::kReplicated;
  ListenAddress listen_webhook{"127.0.0.1", 9443};
  ListenAddress listen_grpc{"127.0.0.1", 9444};
  ListenAddress listen_http{"127.0.0.1", 9445};
  // Names that the HTTP port answers to, beside addresses, localhost and the machine's name.
  std::vector<std::string> http_hosts;
  // PEM files. Set both or none.
  std::string tls_cert, tls_key;
  // The token file. Empty: only loopback callers are admitted, as admins.
  std::string tokens;
  // False: without a token file there is no admin at all.
  bool loopback_admin = true;
  // HOST:PORT of the leader's gRPC API, if this process is a replica that serves only the webhook.
  // Else empty.
  std::string follow;
  // Two files for `follow`: the leader's CA in PEM, and a token for the leader.
  std::string follow_ca, follow_token;
  // HOST:PORT at which clients reach the gRPC API of this process once it leads. Empty: the address
  // of listen_grpc, if another machine can use it.
  std::string advertise;
  // Returns the address that clients get: `advertise`, or that of listen_grpc. Empty: clients get
  // no address.
  std::string advertised() const;
  // NAMESPACE/NAME of the pod in which this process runs. The pod gets a label while the process
  // leads. Empty: no pod gets a label.
  std::string own_pod;
  // The folder for this replica's own files if the state is in a database. They are the replica's
  // last durable sequence, and the basis of its webhook. Empty:
  // the folder var in the working directory.
  std::string known_folder;
  // Path of the Unix socket of the gRPC API; empty: none.
  std::string grpc_socket;
  // User ids of the admins on that socket, beside root and the service's own user.
  std::vector<std::uint32_t> socket_users;

  // The mode of clusters that name no mode.
  std::optional<Mode> mode;
  // The clusters. Empty: those of the store. A new store gets names::kFirstCluster.
  std::vector<ClusterConfig> clusters;
  // How the service reaches the only cluster, if the cluster's own entry does not say so.
  std::string kubeconfig;
  bool in_cluster = false;
  // Values of the Policy (model/policy.h), under the same names. Unset: the stored value stays.
  std::optional<OrderPolicy> order;
  std::optional<DurationMs> half_life_ms, hold_ms, patience_ms;
  std::optional<std::uint32_t> reserve_jobs;
  std::optional<bool> reclaim;
  std::optional<DurationMs> reclaim_min_run_ms, reclaim_max_grace_ms;
  std::optional<std::uint32_t> keep_whole;
  std::optional<std::uint32_t> clique_gangs;
  std::optional<std::int64_t> cpu_per_gpu_milli, memory_per_gpu_bytes;
  std::optional<bool> enforce_time_limits;
  std::optional<DurationMs> time_limit_grace_ms, default_time_limit_ms;

  // Extended resources that are counted like nvidia.com/gpu.
  std::vector<std::string> gpu_kinds;
  // A node with one of these conditions gets no new work. nullopt: those of kube/node/node.h.
  std::optional<std::vector<std::string>> fatal_conditions;
  // The value of KubeNodeOptions::topology_labels.
  std::vector<std::string> topology_labels;
  // The value of Policy::system_namespaces. It replaces the stored value, also if it is empty.
  std::vector<std::string> system_namespaces;
  // Members of this group may remove Subak's gate.
  std::string break_glass_group = "subak:break-glass";
  DeviceClaims device_claims = DeviceClaims::kGate;
  UnknownCluster unknown_cluster = UnknownCluster::kWarn;
  // Log lines below this level are not written.
  LogLevel log_level = LogLevel::kInfo;
  // The metrics also have series for each user, beside those for each account.
  bool user_metrics = false;
  // This start rebuilds the state from all facts, without the checkpoint.
  bool ignore_checkpoint = false;

  // True if this process follows the leader without TLS: the leader is on this machine, and no CA
  // is named.
  bool follows_plainly() const;
  // Returns `stored`, changed to the values that are set here.
  Policy policy_over(const Policy& stored) const;
};

// One key with its flag. `list`: the value is a sequence in the file, and the flag may be repeated;
// flags replace the file's sequence. `toggle`: the flag needs no value.
struct Setting {
  // The key in the file: "listenWebhook".
  std::string_view key;
  // The flag: "--listen-webhook".
  std::string_view flag;
  // The form of the value in the help: "ADDRESS:PORT".
  std::string_view value;
  std::string_view help;
  bool list = false;
  bool toggle = false;
  // Reads one value into the config. The error's field is empty; the caller knows its name.
  std::optional<Error> (*set)(Config&, std::string_view) = nullptr;
  // Empties the list before the first value of a flag; nullptr for all others.
  void (*clear)(Config&) = nullptr;
};
// Returns all settings, in the order of the help. They live as long as the process.
std::span<const Setting> settings();

// The request of a command line without mistakes.
struct StartRequest {
  // The file's values with the flags over them, checked.
  Config config;
  // --check-config: exit after the check.
  bool check_only = false;
  // --help or --version was printed: exit with code 0.
  bool done = false;
};

// The mistakes of a command line: one or more full lines for stderr.
struct StartError {
  std::string text;
};
// Reads the file that --config names, then the flags, which win, and checks the result. `out` gets
// the output of --help and --version. The function reads and changes nothing else.
std::variant<StartRequest, StartError> read_start(int argc, const char* const* argv,
                                                  std::ostream& out);

// Where a value was set: "file:line", or the flag.
struct Origin {
  std::string key;
  std::string where;
};
// Sets the values of a YAML text in `config`. `file` is the text's name in errors. Returns the
// first mistake as `file:line: key: was "found", want expected`.
// Appends each key that it set to `origins`.
std::optional<std::string> apply_yaml(const std::string& text, std::string_view file,
                                      Config& config, std::vector<Origin>& origins);

// Returns an error for the first given key that a webhook-only replica (`follow`) does not use, or
// that it gets from its leader.
std::optional<Error> check_replica_keys(const Config& config, std::span<const Origin> origins);

// Checks values against each other: pairs that belong together, duplicates, listeners beyond
// loopback. The error's field is a key.
std::optional<Error> check_config(const Config& config);

// The version of this program.
inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace subak

// The configuration that a process starts with: a YAML file (`apiVersion: subak.gpu/v1`, `kind:
// Configuration`), then flags over it. Each key has a flag and each flag a key (settings()).
// Nothing is guessed. An unknown key or a bad value stops the start with file, line, key, the value
// found and the value expected.
//
// Clusters, modes and policy may also be edited while the service runs, so they are optional here.
// Only values that the file or a flag names are applied at start, and a restart does not undo an
// edit made by command. Threads: plain values, filled once in main.
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

// Where to listen. With port 0 the system chooses one, and the start line shows it.
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
  // None: Config::mode, or else the stored mode.
  std::optional<Mode> mode;
  // Sorted by name.
  std::vector<NamespaceMode> namespaces{};
  // How the service's own edge reaches the API server: by a kubeconfig and a context of it (empty:
  // its current one), or as a pod in the cluster. With neither, only an external edge can follow
  // the cluster.
  std::string kubeconfig{}, context{};
  bool in_cluster = false;
  // True if the service has an edge of its own for the cluster.
  bool has_edge() const { return !kubeconfig.empty() || in_cluster; }
  friend bool operator==(const ClusterConfig&, const ClusterConfig&) = default;
};

// The failure that a commit survives where the state is in a database.
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
  // PEM files; both or none.
  std::string tls_cert, tls_key;
  // The token file. Empty: only loopback callers are let in, as admin.
  std::string tokens;
  // False: without a token file there is no admin at all.
  bool loopback_admin = true;
  // For a webhook-only replica: HOST:PORT of the leader's gRPC API, whose webhook this process
  // serves too. Else empty.
  std::string follow;
  // Files: the leader's CA in PEM, and a token for the leader.
  std::string follow_ca, follow_token;
  // HOST:PORT at which clients reach the gRPC API of this process once it leads. Empty: the address
  // of listen_grpc, if another machine can use it.
  std::string advertise;
  // Returns that address. Empty: clients get no address.
  std::string advertised() const;
  // NAMESPACE/NAME of the pod that this process runs in, which is labelled while it leads. Empty:
  // no pod is labelled.
  std::string own_pod;
  // Folder for this replica's own files beside a database: its last durable sequence there, and the
  // basis of its webhook. Empty: var of the working directory.
  std::string known_folder;
  // Path of the Unix socket of the gRPC API; empty: none.
  std::string grpc_socket;
  // User ids of the admins there, beside root and the service's own user.
  std::vector<std::uint32_t> socket_users;

  // The mode of clusters that name none.
  std::optional<Mode> mode;
  // Empty: those of the store. A new store gets names::kFirstCluster.
  std::vector<ClusterConfig> clusters;
  // How the only cluster is reached, if its own entry does not say so.
  std::string kubeconfig;
  bool in_cluster = false;
  // Values of the Policy (model/policy.h), under the same names. None: the stored one stays.
  std::optional<OrderPolicy> order;
  std::optional<DurationMs> half_life_ms, hold_ms, patience_ms;
  std::optional<std::uint32_t> reserve_jobs;
  std::optional<bool> reclaim;
  std::optional<DurationMs> reclaim_min_run_ms;
  std::optional<std::uint32_t> keep_whole;
  std::optional<std::uint32_t> clique_gangs;
  std::optional<std::int64_t> cpu_per_gpu_milli, memory_per_gpu_bytes;
  std::optional<bool> enforce_time_limits;
  std::optional<DurationMs> time_limit_grace_ms, default_time_limit_ms;

  // Extended resources that are counted like nvidia.com/gpu.
  std::vector<std::string> gpu_kinds;
  // Node conditions that keep new work away; nullopt: those of kube/node/node.h.
  std::optional<std::vector<std::string>> fatal_conditions;
  // As KubeNodeOptions::topology_labels.
  std::vector<std::string> topology_labels;
  // As Policy::system_namespaces. They replace the stored ones, also if empty.
  std::vector<std::string> system_namespaces;
  // Members of this group may remove Subak's gate.
  std::string break_glass_group = "subak:break-glass";
  DeviceClaims device_claims = DeviceClaims::kGate;
  UnknownCluster unknown_cluster = UnknownCluster::kWarn;
  // Lines below it are not written.
  LogLevel log_level = LogLevel::kInfo;
  // Write series per user beside those per account.
  bool user_metrics = false;
  // This start rebuilds the state from all facts.
  bool ignore_checkpoint = false;

  // True if the leader is on this machine and no CA is named: no TLS.
  bool follows_plainly() const;
  // Returns `stored` with the values named here put over it.
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

// What is wrong with a command line: one or more full lines for stderr.
struct StartError {
  std::string text;
};
// Reads the file that --config names, then the flags over it, and checks the result. `out` gets the
// output of --help and --version. Nothing else is read or changed.
std::variant<StartRequest, StartError> read_start(int argc, const char* const* argv,
                                                  std::ostream& out);

// Where a value was set: "file:line", or the flag.
struct Origin {
  std::string key;
  std::string where;
};
// Puts a YAML text over `config`. `file` names it in errors. Returns the first mistake as
// `file:line: key: was "found", want expected`. Appends each key that it set to `origins`.
std::optional<std::string> apply_yaml(const std::string& text, std::string_view file,
                                      Config& config, std::vector<Origin>& origins);

// Returns an error for the first given key that a webhook-only replica (`follow`) does not use or
// gets from its leader.
std::optional<Error> check_replica_keys(const Config& config, std::span<const Origin> origins);

// Checks values against each other: pairs that belong together, duplicates, listeners beyond
// loopback. The error's field is a key.
std::optional<Error> check_config(const Config& config);

// The version of this program.
inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace subak

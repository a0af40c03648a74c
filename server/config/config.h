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
  std::string host;  // an IP address, IPv6 without brackets
  std::uint16_t port = 0;
  bool loopback() const;
  std::string text() const;  // "127.0.0.1:9443", "[::1]:9443"
  friend bool operator==(const ListenAddress&, const ListenAddress&) = default;
};
// Reads "ADDRESS:PORT"; "localhost" is 127.0.0.1. Other names are refused, so that the address does
// not depend on a resolver.
Result<ListenAddress> parse_listen_address(std::string_view text);

// One cluster of the configuration.
struct ClusterConfig {
  std::string name;
  std::optional<Mode> mode;
  std::vector<NamespaceMode> namespaces{};  // sorted by name
  // How the service's own edge reaches the API server: by a kubeconfig and a context of it (empty:
  // its current one), or as a pod in the cluster. With neither, only an external edge can follow
  // the cluster.
  std::string kubeconfig{}, context{};
  bool in_cluster = false;
  bool has_edge() const { return !kubeconfig.empty() || in_cluster; }
  friend bool operator==(const ClusterConfig&, const ClusterConfig&) = default;
};

// The failure that a commit survives where the state is in a database.
enum class DatabaseDurability : std::uint8_t {
  kReplicated,  // loss of the server's machine: a synchronous standby has it too
  kLocal,       // a crash of the server
};
template <>
struct EnumText<DatabaseDurability> {
  static constexpr std::array<std::string_view, 2> names{"replicated", "local"};
};

// All values of the configuration, with their defaults.
struct Config {
  std::string state = "var/subak.db";  // a file, or the address of a database
  DatabaseDurability database_durability = DatabaseDurability::kReplicated;
  ListenAddress listen_webhook{"127.0.0.1", 9443};
  ListenAddress listen_grpc{"127.0.0.1", 9444};
  ListenAddress listen_http{"127.0.0.1", 9445};
  // Names that the HTTP port answers to, beside addresses, localhost and the machine's name.
  std::vector<std::string> http_hosts;
  std::string tls_cert, tls_key;  // PEM files; both or none
  std::string tokens;             // token file; empty: only loopback callers, as admin
  bool loopback_admin = true;     // false: without tokens there is no admin at all
  // For a webhook-only replica: HOST:PORT of the leader's gRPC API, whose webhook this process
  // serves too. Else empty.
  std::string follow;
  std::string follow_ca, follow_token;  // PEM of the CA of the leader; file with a token for it
  // HOST:PORT at which clients reach the gRPC API of this process once it leads. Empty: the address
  // of listen_grpc, if another machine can use it.
  std::string advertise;
  std::string advertised() const;  // or empty: clients get no address
  // NAMESPACE/NAME of the pod that this process runs in, which is labelled while it leads. Empty:
  // no pod is labelled.
  std::string own_pod;
  // Folder for this replica's own files beside a database: its last durable sequence there, and the
  // basis of its webhook. Empty: var of the working directory.
  std::string known_folder;
  std::string grpc_socket;                  // Unix socket of the gRPC API; empty: none
  std::vector<std::uint32_t> socket_users;  // admins there, beside root and the service's own user

  std::optional<Mode> mode;  // of clusters that name none
  std::vector<ClusterConfig> clusters;
  std::string kubeconfig;   // of the only cluster, if that names none
  bool in_cluster = false;  // the same
  std::optional<OrderPolicy> order;
  std::optional<DurationMs> half_life_ms, hold_ms, patience_ms;
  std::optional<std::uint32_t> reserve_jobs;
  std::optional<std::uint32_t> keep_whole;
  std::optional<std::uint32_t> clique_gangs;
  std::optional<std::int64_t> cpu_per_gpu_milli, memory_per_gpu_bytes;
  std::optional<bool> enforce_time_limits;
  std::optional<DurationMs> time_limit_grace_ms, default_time_limit_ms;

  std::vector<std::string> gpu_kinds;  // extended resources counted like nvidia.com/gpu
  // Node conditions that keep new work away; nullopt: those of kube/node/node.h.
  std::optional<std::vector<std::string>> fatal_conditions;
  std::vector<std::string> topology_labels;             // KubeNodeOptions::topology_labels
  std::vector<std::string> system_namespaces;           // Policy::system_namespaces
  std::string break_glass_group = "subak:break-glass";  // may remove Subak's gate
  DeviceClaims device_claims = DeviceClaims::kGate;
  UnknownCluster unknown_cluster = UnknownCluster::kWarn;
  LogLevel log_level = LogLevel::kInfo;
  bool user_metrics = false;       // series per user beside those per account
  bool ignore_checkpoint = false;  // this start rebuilds the state from all facts

  // True if the leader is on this machine and no CA is named: no TLS.
  bool follows_plainly() const;
  // Returns `stored` with the values named here put over it.
  Policy policy_over(const Policy& stored) const;
};

// One key with its flag. `list`: the value is a sequence in the file, and the flag may be repeated;
// flags replace the file's sequence. `toggle`: the flag needs no value.
struct Setting {
  std::string_view key;    // "listenWebhook"
  std::string_view flag;   // "--listen-webhook"
  std::string_view value;  // form of the value, for help: "ADDRESS:PORT"
  std::string_view help;
  bool list = false;
  bool toggle = false;
  // Reads one value into the config. The error's field is empty; the caller knows its name.
  std::optional<Error> (*set)(Config&, std::string_view) = nullptr;
  void (*clear)(Config&) = nullptr;  // lists only
};
std::span<const Setting> settings();

// The request of the command line.
struct StartRequest {
  Config config;
  bool check_only = false;  // --check-config
  bool done = false;        // --help or --version was printed: exit with code 0
};

// Reads the flags and the file that --config names. An error is one or more full lines for stderr.
// `out` gets the output of --help and --version.
struct StartError {
  std::string text;
};
std::variant<StartRequest, StartError> read_start(int argc, const char* const* argv,
                                                  std::ostream& out);

// Puts a YAML text over `config`. `file` names it in errors. Returns the first mistake as
// `file:line: key: was "found", want expected`. Fills `origins` with "file:line" of each key that
// it set.
struct Origin {
  std::string key;
  std::string where;
};
std::optional<std::string> apply_yaml(const std::string& text, std::string_view file,
                                      Config& config, std::vector<Origin>& origins);

// Returns an error for the first given key that a webhook-only replica (`follow`) does not use or
// gets from its leader.
std::optional<Error> check_replica_keys(const Config& config, std::span<const Origin> origins);

// Checks values against each other: pairs that belong together, duplicates, listeners beyond
// loopback. The error's field is a key.
std::optional<Error> check_config(const Config& config);

inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace subak

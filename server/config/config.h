// What a process is told at its start: a YAML file (`apiVersion: subak.gpu/v1`, `kind:
// Configuration`), then flags over it. Each key has a flag and each flag a key (settings()).
// Nothing is guessed: an unknown key or a bad value stops the start with file, line, key, what was
// found and what was expected.
//
// What may also be edited while the service runs (clusters, modes, policy) is optional here: only
// what the file or a flag names is applied at start, so a restart does not undo an edit made by
// command. Threads: plain values, filled once in main.
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
#include "engine/input.h"
#include "server/log/log.h"

namespace subak {

// Where to listen. Port 0: the system chooses, the start line says which.
struct ListenAddress {
  std::string host;  // an IP address, IPv6 without brackets
  std::uint16_t port = 0;
  bool loopback() const;
  std::string text() const;  // "127.0.0.1:9443", "[::1]:9443"
  friend bool operator==(const ListenAddress&, const ListenAddress&) = default;
};
// Reads "ADDRESS:PORT"; "localhost" is 127.0.0.1. Other names are refused: which address was meant
// must not depend on a resolver.
Result<ListenAddress> parse_listen_address(std::string_view text);

struct ClusterConfig {
  std::string name;
  std::optional<Mode> mode;
  std::vector<NamespaceMode> namespaces{};  // sorted by name
  // How our own edge reaches its API server: by a kubeconfig (and a context of it, empty for its
  // current one), or as a pod there. Neither: an edge of somebody else follows it, if any does.
  std::string kubeconfig{}, context{};
  bool in_cluster = false;
  bool has_edge() const { return !kubeconfig.empty() || in_cluster; }
  friend bool operator==(const ClusterConfig&, const ClusterConfig&) = default;
};

// What a commit must have survived where the state is in a database.
enum class DatabaseDurability : std::uint8_t {
  kReplicated,  // the loss of the server's machine: it is on a synchronous standby too
  kLocal,       // a crash of the server
};
template <>
struct EnumText<DatabaseDurability> {
  static constexpr std::array<std::string_view, 2> names{"replicated", "local"};
};

struct Config {
  std::string state = "var/subak.db";  // a file, or the address of a database
  DatabaseDurability database_durability = DatabaseDurability::kReplicated;
  ListenAddress listen_webhook{"127.0.0.1", 9443};
  ListenAddress listen_grpc{"127.0.0.1", 9444};
  ListenAddress listen_http{"127.0.0.1", 9445};
  // Names that the HTTP port answers to, beside addresses, localhost and the machine's own name.
  std::vector<std::string> http_hosts;
  std::string tls_cert, tls_key;  // PEM files; both or none
  std::string tokens;             // token file; empty: only loopback callers, as admin
  bool loopback_admin = true;     // false: not even these, without tokens
  // A replica: the gRPC API of the leader, HOST:PORT, whose webhook this process serves too. Else empty.
  std::string follow;
  std::string follow_ca, follow_token;  // PEM of who vouches for the leader; file of a token there
  // HOST:PORT at which clients reach the gRPC API of this process once it leads; empty: that of listen_grpc, where
  // another machine could use it.
  std::string advertise;
  std::string advertised() const;  // or empty: nobody is told
  // NAMESPACE/NAME of the pod that this process runs in, which is labelled while it leads; empty: none is.
  std::string own_pod;
  // Where this replica keeps what is its own beside a database: what it knows to be durable there, and what its webhook
  // judges by. Empty: var of the working directory.
  std::string known_folder;
  std::string grpc_socket;                  // Unix socket of the gRPC API; empty: none
  std::vector<std::uint32_t> socket_users;  // admins there, beside root and the service's own user

  std::optional<Mode> mode;  // of clusters that name none
  std::vector<ClusterConfig> clusters;
  std::string kubeconfig;   // of the only cluster, where that names none
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
  // Node conditions that keep new work away; none: those of kube/node.h.
  std::optional<std::vector<std::string>> fatal_conditions;
  std::vector<std::string> topology_labels;             // KubeNodeOptions::topology_labels
  std::vector<std::string> system_namespaces;           // Policy::system_namespaces
  std::string break_glass_group = "subak:break-glass";  // may remove our gate
  DeviceClaims device_claims = DeviceClaims::kGate;
  UnknownCluster unknown_cluster = UnknownCluster::kWarn;
  LogLevel log_level = LogLevel::kInfo;
  bool user_metrics = false;       // series per user beside those per account
  bool ignore_checkpoint = false;  // this start makes the state again from all facts

  // The leader is on this machine and no CA is named: no TLS.
  bool follows_plainly() const;
  // `stored` with what is named here put over it.
  Policy policy_over(const Policy& stored) const;
};

// One key with its flag. `list`: the value is a sequence in the file and the flag may be repeated,
// which replaces the file's sequence. `toggle`: the flag needs no value.
struct Setting {
  std::string_view key;    // "listenWebhook"
  std::string_view flag;   // "--listen-webhook"
  std::string_view value;  // what to write, for help: "ADDRESS:PORT"
  std::string_view help;
  bool list = false;
  bool toggle = false;
  // Reads one value into the config. The error's field is empty; who calls knows what it is called.
  std::optional<Error> (*set)(Config&, std::string_view) = nullptr;
  void (*clear)(Config&) = nullptr;  // lists only
};
std::span<const Setting> settings();

// What the command line asked for.
struct StartRequest {
  Config config;
  bool check_only = false;  // --check-config
  bool done = false;        // --help or --version was printed: leave with exit code 0
};

// Reads flags and the file that --config names. An error is one or more full lines for stderr.
// `out` gets what --help and --version print.
struct StartError {
  std::string text;
};
std::variant<StartRequest, StartError> read_start(int argc, const char* const* argv,
                                                  std::ostream& out);

// Puts a YAML text over `config`. `file` names it in errors. Returns the first mistake as
// `file:line: key: was "found", want expected`; fills `origins` with "file:line" of each key it
// set.
struct Origin {
  std::string key;
  std::string where;
};
std::optional<std::string> apply_yaml(const std::string& text, std::string_view file,
                                      Config& config, std::vector<Origin>& origins);

// The first key that was given and that a replica (`follow`) has no use for, or that its leader tells it.
std::optional<Error> check_replica_keys(const Config& config, std::span<const Origin> origins);

// What no single value can tell: pairs that belong together, duplicates, listeners beyond loopback.
// The error's field is a key.
std::optional<Error> check_config(const Config& config);

inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace subak

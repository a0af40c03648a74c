// The options of the API server, and the objects that it uses.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "admission/policy_config.h"
#include "core/error.h"
#include "core/limits.h"
#include "core/quantity.h"
#include "model/input.h"
#include "net/connection_limiter.h"
#include "server/runtime/follower.h"
#include "server/runtime/ports.h"
#include "server/runtime/runtime.h"

namespace subak {

// A call that was refused for lack of rights. Such a call never reaches the engine. When the engine
// refuses a call because of the state, that refusal is a fact, and the audit log shows it.
struct ApiDenial {
  // Such as "token:ci"; empty: the caller was not authenticated.
  std::string actor;
  // The address as gRPC writes it: "ipv4:10.0.0.7:4711".
  std::string peer;
  // The account path or the job; empty: not known.
  std::string subject;
  // The text of the answer that the caller got.
  std::string message;
};

// An operator declares all facts after `until` lost (AdminService.AcceptLoss).
// With validate_only the answer is the same, but no fact is declared lost.
struct LossAsked {
  // The number of the last fact that stays.
  std::uint64_t until = 0;
  // The person who declares the loss, and the reason, for the audit log.
  std::string actor, reason;
  // True: only check the call.
  bool validate_only = false;
};
// The last fact that this replica knows as durable but that the database lacks.
// known_seq 0: there is no such fact. known_ms: the time of that fact.
struct LossSeen {
  std::uint64_t known_seq = 0;
  TimeMs known_ms = 0;
};

// The options of the API server.
struct ApiOptions {
  // An IP address and a port; port 0: the system chooses.
  std::string address = "127.0.0.1:0";
  // Connection limits per address and in all. When a limit is reached, the server closes the oldest
  // connection that has sent nothing. If all have sent something, it closes the new connection.
  ListenerLimits connections{limits::kMaxGrpcConnections, limits::kMaxGrpcConnectionsPerPeer};
  // PEM files. Set both or none.
  std::string tls_cert, tls_key;
  // The token file, see server/api/common/auth.h. Empty: plaintext on loopback only, and every
  // caller is the admin "loopback". Set: every call needs a token, and an address beyond loopback
  // requires tls_cert. The server speaks TLS if tls_cert is set.
  std::string token_file;
  // False: a loopback caller is not an admin when there is no token file.
  bool loopback_admin = true;
  // A Unix socket beside the address; empty: none. It admits root, the service's own user and
  // `socket_users`, and closes the connection of any other user. A caller on the socket is the
  // admin "socket"; with a token, the caller has the token's role.
  std::string socket;
  // The user ids that the socket admits.
  std::vector<std::uint32_t> socket_users;
  // The version of this program, for AdminService.GetStatus.
  std::string version;
  // The mode of clusters that an import creates.
  Mode default_mode = Mode::kObserve;
  // True: the configuration names clusters, so no cluster is a placeholder.
  bool names_clusters = false;
  // Clusters that edges of this service follow; an empty name: the only cluster. For these clusters
  // the API refuses Observe, Effects and CreateJob.
  std::vector<std::string> own_edges;
  // The configuration by which webhook-only replicas decide, beside the state.
  AdmissionConfig admission;
  // Returns further warnings for an operator, one sentence each; GetStatus shows them. May be
  // called on any thread. May be null.
  std::function<std::vector<std::string>()> warnings;
  // Declares facts lost. May be called on any thread and must not block. null: this store cannot
  // lose facts.
  std::function<Result<LossSeen>(const LossAsked&)> accept_loss;
  // Called for each refusal for lack of rights, on any thread; must not block. May be null.
  std::function<void(const ApiDenial&)> on_denied;
  // How many unread bytes all WatchJobs streams together may have. With more, the stream that is
  // furthest behind ends.
  std::size_t most_watch_bytes = limits::kMaxWatchBytes;
};

// The objects that the server uses.
// The caller owns them and starts them before the server. They outlive the server.
struct ApiDeps {
  Runtime& runtime;
  Follower& follower;
  Store& store;
  const Clock& clock;
};

}  // namespace subak

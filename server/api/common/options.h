// What the API server is given: its options, and the objects that it uses.
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

// A call that was refused for lack of rights. Such a refusal never reaches the engine. Refusals by
// state are facts and appear in the audit log as such.
struct ApiDenial {
  // "token:ci"; empty: unauthenticated.
  std::string actor;
  // The address as gRPC writes it: "ipv4:10.0.0.7:4711".
  std::string peer;
  // The account path or the job; empty: not known.
  std::string subject;
  // The text of the answer that the caller got.
  std::string message;
};

// An operator declares all facts after `until` lost (AdminService.AcceptLoss).
// With validate_only nothing is declared, and the answer is the same.
struct LossAsked {
  // The last fact that stays, by its number.
  std::uint64_t until = 0;
  // Who declares it, and why: for the audit log.
  std::string actor, reason;
  // Declares nothing.
  bool validate_only = false;
};
// The last fact that this replica knows as durable but that the database lacks.
// known_seq 0: it knows of none. known_ms: when that fact was made.
struct LossSeen {
  std::uint64_t known_seq = 0;
  TimeMs known_ms = 0;
};

// The options of the API server.
struct ApiOptions {
  // An IP address and a port; port 0: the system chooses.
  std::string address = "127.0.0.1:0";
  // Connection limits per address and in all. Beyond them the oldest connection that has not sent
  // anything is closed. If there is none, the new connection is closed.
  ListenerLimits connections{limits::kMaxGrpcConnections, limits::kMaxGrpcConnectionsPerPeer};
  // PEM files; both or none.
  std::string tls_cert, tls_key;
  // The token file, see server/api/common/auth.h. Empty: plaintext on loopback only, and every
  // caller is the admin "loopback". Set: every call needs a token, and an address beyond loopback
  // requires tls_cert. The server speaks TLS if tls_cert is set.
  std::string token_file;
  // False: a loopback caller is not an admin when there is no token file.
  bool loopback_admin = true;
  // A Unix socket beside the address; empty: none. It admits root, the service's own user and
  // `socket_users`, and closes the connection of any other user. A caller there is the admin
  // "socket", or has the role of the token that it shows.
  std::string socket;
  // User ids.
  std::vector<std::uint32_t> socket_users;
  // The version of this program, for AdminService.GetStatus.
  std::string version;
  // The mode of clusters that an import creates.
  Mode default_mode = Mode::kObserve;
  // The configuration names clusters: none is a placeholder.
  bool names_clusters = false;
  // Clusters that edges of this service follow; an empty name: the only cluster. These clusters
  // take no Observe, no Effects and no job by CreateJob.
  std::vector<std::string> own_edges;
  // What webhook-only replicas judge by, beside the state.
  AdmissionConfig admission;
  // Returns further warnings for an operator, one sentence each; GetStatus shows them. Any thread;
  // may be null.
  std::function<std::vector<std::string>()> warnings;
  // Declares facts lost. Any thread, must not block; null: this store cannot lose facts.
  std::function<Result<LossSeen>(const LossAsked&)> accept_loss;
  // Called for each refusal for lack of rights. Any thread, must not block; may be null.
  std::function<void(const ApiDenial&)> on_denied;
  // Most bytes that all WatchJobs streams together may leave unread. Beyond that the stream
  // furthest behind ends.
  std::size_t most_watch_bytes = limits::kMaxWatchBytes;
};

// The objects that the server uses. They outlive it.
// References: the caller owns them. All must be started before the server.
struct ApiDeps {
  Runtime& runtime;
  Follower& follower;
  Store& store;
  const Clock& clock;
};

}  // namespace subak

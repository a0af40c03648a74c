// The gRPC API (proto/subak/v1) of one process: services, health (grpc.health.v1), server
// reflection. Callback API throughout: no call ever blocks a gRPC thread. Mutations are posted to
// the runtime and answered when they are durable; lists and explanations are read from the
// follower; ledger and audit rows from the store on a thread of their own. Full queues answer
// RESOURCE_EXHAUSTED with a RetryInfo.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admission/door.h"
#include "admission/policy_config.h"
#include "admission/probe.h"
#include "core/error.h"
#include "core/limits.h"
#include "core/quantity.h"
#include "engine/input.h"
#include "server/runtime/follower.h"
#include "server/runtime/ports.h"
#include "server/runtime/runtime.h"

namespace subak {

// A call that was turned away because of who called. Refusals by state are facts and so in the
// audit log by themselves; these never reach the engine.
struct ApiDenial {
  std::string actor;    // "token:ci"; empty: unauthenticated
  std::string peer;     // "ipv4:10.0.0.7:4711"
  std::string subject;  // account path or job, where it is known
  std::string message;  // what the caller was told
};

// An operator takes all facts after `until` for lost (AdminService.AcceptLoss).
struct LossAsked {
  std::uint64_t until = 0;
  std::string actor, reason;
  bool validate_only = false;
};
// What this replica knows and the database lacks: the last of it.
struct LossSeen {
  std::uint64_t known_seq = 0;
  TimeMs known_ms = 0;
};

struct ApiOptions {
  std::string address = "127.0.0.1:0";  // IP address and port; port 0: the system chooses
  // More from one address, or more in all: one that has not said a word goes, the oldest first; if
  // there is none, the new one is closed.
  DoorLimits connections{limits::kMaxGrpcConnections, limits::kMaxGrpcConnectionsPerPeer};
  std::string tls_cert, tls_key;  // PEM files; both or none
  // See server/api/auth.h. Empty: plaintext, loopback only, every caller is the admin "loopback".
  // Set: every call needs a token. TLS if tls_cert is set;
  // an address beyond loopback requires it.
  std::string token_file;
  // False: without a token file nobody is admin by coming from loopback.
  bool loopback_admin = true;
  // A Unix socket beside the address; empty: none. root, the service's own user and `socket_users`
  // are the admin "socket" there, or whoever's token they show; others are not let in.
  std::string socket;
  std::vector<std::uint32_t> socket_users;
  std::string version;                 // for AdminService.GetStatus
  Mode default_mode = Mode::kObserve;  // of clusters that an import makes
  bool names_clusters = false;         // the configuration does: none gives way
  // Clusters that edges of the service follow; an empty name: the only one. There is no Observe, no
  // Effects and no job by CreateJob there.
  std::vector<std::string> own_edges;
  AdmissionConfig admission;  // what replicas of the webhook judge by, beside the state
  // What else somebody should see to, one sentence each: GetStatus shows it. Any thread; may be null.
  std::function<std::vector<std::string>()> warnings;
  // Any thread, must not block; null: nothing can be lost here.
  std::function<Result<LossSeen>(const LossAsked&)> accept_loss;
  std::function<void(const ApiDenial&)> on_denied;  // any thread, must not block; may be null
  // That WatchJobs streams may leave unread together; then the one furthest behind is ended.
  std::size_t most_watch_bytes = limits::kMaxWatchBytes;
};

// Everything that the server uses outlives it.
struct ApiDeps {
  Runtime& runtime;
  Follower& follower;
  Store& store;
  const Clock& clock;
};

class ApiServer {
 public:
  ApiServer(ApiOptions options, ApiDeps deps);
  ~ApiServer();  // shutdown(0)
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  // Listens. Call after Runtime::start(). An error names an option ("tokens:3", "listenGrpc",
  // "tlsCert"); nothing listens then.
  std::optional<Error> start();
  int port() const;  // the one chosen; 0 before start()
  // Asks the health service over a new connection, in room kept for that. Blocks for twice
  // `patience` at most. Any thread, between start() and shutdown().
  ProbeResult probe(DurationMs patience);
  ConnectionStats connections() const;  // any thread
  // Health: SERVING after start() until this says otherwise. Calls are answered either way.
  void set_serving(bool serving);
  // Reads the token file again (on SIGHUP). On an error the tokens stay as they were. Streams whose
  // token is gone end with UNAUTHENTICATED, those whose role is too little now with
  // PERMISSION_DENIED.
  std::optional<Error> reload_tokens();
  // What is wrong with the token file as it was last read, though it is used: others can read it.
  // Empty: nothing.
  std::string token_warning() const;
  // Ends streams with UNAVAILABLE, takes no new calls, lets unary calls finish until the deadline.
  // Call before Runtime::stop(). Idempotent.
  void shutdown(DurationMs deadline);

  // Observe streams that are open and have named their cluster, by the name they gave (empty: the
  // only one). Threads: any.
  std::map<std::string, std::size_t> observers() const;
  // Events that were refused since a newer session follows their cluster. Threads: any.
  std::uint64_t stale_events() const;

  // For RuntimeOptions: on_durable after Follower::durable of the same batch, so that what it asks
  // the follower sees the batch. Both run on the loop's thread and never block.
  void on_durable(const Released& batch);
  void on_pass(std::int64_t us);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace subak

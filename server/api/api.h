// The gRPC API (proto/subak/v1) of one process: services, health (grpc.health.v1) and server
// reflection. All services use gRPC's callback API, so no call blocks a gRPC thread.
// - Mutations are posted to the runtime and answered once they are durable.
// - Lists and explanations are read from the follower.
// - Ledger and audit rows are read from the store on a thread of their own.
// A full queue answers RESOURCE_EXHAUSTED with a RetryInfo.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/quantity.h"
#include "net/connection_limiter.h"
#include "net/probe.h"
#include "server/api/common/options.h"
#include "server/runtime/runtime.h"

namespace subak {

class ApiServer {
 public:
  ApiServer(ApiOptions options, ApiDeps deps);
  ~ApiServer();  // shutdown(0)
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  // Starts to listen. Call after Runtime::start(). An error names an option ("tokens:3",
  // "listenGrpc", "tlsCert"); then the server does not listen.
  std::optional<Error> start();
  int port() const;  // the port in use; 0 before start()
  // Calls the health service over a new connection, in a slot reserved for probes. Blocks for at
  // most twice `patience`. Threads: any, between start() and shutdown().
  ProbeResult probe(DurationMs patience);
  ConnectionStats connections() const;  // any thread
  // Sets the health status, which is SERVING after start(). Calls are answered in either case.
  void set_serving(bool serving);
  // Reads the token file again (on SIGHUP). On an error the tokens stay unchanged. Streams whose
  // token was removed end with UNAUTHENTICATED. Streams whose token no longer has the needed role
  // end with PERMISSION_DENIED.
  std::optional<Error> reload_tokens();
  // Returns a warning if users other than the owner could read the token file when it was last
  // read. Empty: the file was private.
  std::string token_warning() const;
  // Ends streams with UNAVAILABLE, refuses new calls and lets unary calls finish until `deadline`.
  // Call before Runtime::stop(). Idempotent.
  void shutdown(DurationMs deadline);

  // Returns the number of open Observe streams for each cluster name that a stream gave. An empty
  // name means the only cluster. Streams that have not named a cluster yet are left out.
  // Threads: any.
  std::map<std::string, std::size_t> observers() const;
  // Returns the number of events that were refused because a newer session follows their cluster.
  // Threads: any.
  std::uint64_t stale_events() const;

  // Callbacks for RuntimeOptions. Call on_durable() after Follower::durable() of the same batch, so
  // that its reads of the follower see the batch. Both callbacks run on the loop's
  // thread and never block.
  void on_durable(const Released& batch);
  void on_pass(std::int64_t us);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace subak

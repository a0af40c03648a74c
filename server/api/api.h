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
  // "listenGrpc", "tlsCert"), and then nothing listens.
  std::optional<Error> start();
  int port() const;  // the port in use; 0 before start()
  // Asks the health service over a new connection, in room reserved for probes. Blocks for at most
  // twice `patience`. Any thread, between start() and shutdown().
  ProbeResult probe(DurationMs patience);
  ConnectionStats connections() const;  // any thread
  // Sets the health status, which is SERVING after start(). Calls are answered in either case.
  void set_serving(bool serving);
  // Reads the token file again (on SIGHUP). On an error the tokens stay unchanged. Streams whose
  // token was removed end with UNAUTHENTICATED. Those whose role no longer suffices end with
  // PERMISSION_DENIED.
  std::optional<Error> reload_tokens();
  // Says why the token file in use is not private: others can read it. Empty: it is private. As of
  // the last read.
  std::string token_warning() const;
  // Ends streams with UNAVAILABLE, refuses new calls and lets unary calls finish until `deadline`.
  // Call before Runtime::stop(). Idempotent.
  void shutdown(DurationMs deadline);

  // The open Observe streams that have named their cluster, counted by that name (empty: the only
  // cluster). Threads: any.
  std::map<std::string, std::size_t> observers() const;
  // Events that were refused because a newer session follows their cluster. Threads: any.
  std::uint64_t stale_events() const;

  // For RuntimeOptions. Call on_durable after Follower::durable of the same batch, so that its
  // reads of the follower see the batch. Both run on the loop's thread and never block.
  void on_durable(const Released& batch);
  void on_pass(std::int64_t us);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace subak

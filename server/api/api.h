// The gRPC API (proto/subak/v1) of one process: services, health (grpc.health.v1) and server
// reflection. All services use gRPC's callback API, so no call blocks a gRPC thread.
// - Changes are posted to the loop, the thread that decides (server/runtime), and answered when
//   they are durable.
// - Lists and explanations are read from the follower, a second engine that serves reads.
// - Rows of the ledger and the audit log are read from the store, on a separate thread.
// If the queue for a call is full, the answer is RESOURCE_EXHAUSTED with a RetryInfo.
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

namespace grpc {
class Channel;
}

namespace subak {

namespace api {
class Sessions;
}

// The gRPC server of one process.
class ApiServer {
 public:
  ApiServer(ApiOptions options, ApiDeps deps);
  ~ApiServer();  // shutdown(0)
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  // Starts to listen. Call it after Runtime::start(). After an error, the server does not listen.
  // The error names an option, such as "tokens:3", "listenGrpc" or "tlsCert".
  // Threads: one at a time, as for shutdown().
  std::optional<Error> start();
  int port() const;  // the port in use; 0 before start()
  // Calls the health service over a new connection, which uses a slot that is reserved for probes.
  // It blocks for at most twice `patience`. Threads: any, between start() and shutdown().
  ProbeResult probe(DurationMs patience);
  ConnectionStats connections() const;  // any thread
  // Sets the health status, which is SERVING after start(). The server answers calls even while the
  // status is not SERVING. Threads: any.
  void set_serving(bool serving);
  // Reads the token file again, for example on SIGHUP. After an error, the tokens are unchanged.
  // Streams whose token was removed end with UNAUTHENTICATED. Streams whose token no longer has the
  // needed role end with PERMISSION_DENIED. Threads: any.
  std::optional<Error> reload_tokens();
  // Returns a channel for calls within the process, which have the same roles, lanes and limits as
  // all others. nullptr before start(). After shutdown(), its calls fail with UNAVAILABLE.
  std::shared_ptr<grpc::Channel> in_process() const;
  // Returns the sessions of browsers. Threads: any.
  api::Sessions& sessions() const;
  // Returns a warning if users other than the owner could read the token file when it was last
  // read. Empty: the file was private.
  std::string token_warning() const;
  // Ends all streams with UNAVAILABLE and refuses new calls. Unary calls may finish within
  // `deadline` ms. Call it before Runtime::stop(). A second call does nothing.
  void shutdown(DurationMs deadline);

  // Returns the number of open Observe streams, by which external programs report clusters. The key
  // is the name of the cluster that each stream gave. An empty name stands for the only cluster. A
  // stream that has not named a cluster yet does not count. Threads: any.
  std::map<std::string, std::size_t> observers() const;
  // Returns the number of events that were refused because a newer session follows the cluster of
  // the event. Threads: any.
  std::uint64_t stale_events() const;

  // Callbacks for RuntimeOptions. They never block. Threads: the loop's thread; before it runs, the
  // thread that starts the service.
  // Tells watch streams about new facts. Call it after Follower::durable() for the same batch,
  // because the streams read the follower.
  void on_durable(const Released& batch);
  // Stores how long the last pass took, for the status.
  void on_pass(std::int64_t us);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace subak

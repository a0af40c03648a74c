// The HTTP port of the service: metrics, health, the console, and the gateway for browsers. With a
// certificate (tlsCert), the port speaks TLS and plain HTTP: a connection's first byte says which.
// Threads: one thread calls start(), open(), close() and stop(); any
// thread may call the other members after start().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "net/listener.h"
#include "server/api/api.h"
#include "server/browser/gateway.h"
#include "server/http/routes.h"

namespace subak::browser {

// The options of the port.
struct HttpPortOptions {
  // The address, the limits on connections and the certificate. The port sets the other options.
  ListenerOptions listener;
  // The service's own names (own_hosts_only()).
  std::vector<std::string> hosts;
  // True: the service has a token file.
  bool wants_token = false;
};

// The HTTP port of one process: its listener, routes and gateway.
class HttpPort {
 public:
  // Begins to listen. Until open(), calls and events of browsers are answered with "unavailable".
  // `sequence`: returns the number of the last durable fact, once open() was called. An error: the
  // address cannot be bound.
  std::optional<Error> start(HttpPortOptions options, HttpSources sources,
                             std::function<std::uint64_t()> sequence);
  // Opens calls and events. `api` must have started, and must outlive close().
  void open(ApiServer& api);
  // Ends calls and events. Call it before the shutdown of the API.
  void close();
  // Stops listening. It may be called even if start() was not called or has failed.
  void stop();

  std::uint16_t port() const { return listener_->port(); }
  ConnectionStats connections() const { return listener_->connections(); }
  ProbeResult probe(DurationMs patience) { return listener_->probe(patience); }

 private:
  std::unique_ptr<HttpRoutes> routes_;
  std::unique_ptr<Gateway> gateway_;
  std::unique_ptr<Listener> listener_;
};

}  // namespace subak::browser

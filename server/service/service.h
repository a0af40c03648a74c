// The whole service in one object: main starts and stops it, and tests run it on port 0.
//
//  store -> follower, runtime -> configuration as inputs -> watchdog, audit -> webhook, gRPC
//  -> edges
//
// The HTTP port listens first, and answers "recovering" until all parts run. If the store is a
// database, the webhook listens before the store is open too (server/service/reviewer.h). Threads:
// one thread starts, reloads and stops the service. The headers of the parts say on which threads
// callbacks run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/error.h"
#include "server/config/config.h"
#include "server/runtime/runtime.h"

namespace subak {

// The addresses on which the service listens.
struct ServicePorts {
  // The addresses that were bound, so no port is 0.
  ListenAddress webhook, grpc, http;
  // Returns a text such as "subakd ready webhook=127.0.0.1:9443 grpc=127.0.0.1:9444
  // http=127.0.0.1:9445".
  std::string text() const;
};

// True if SIGTERM or SIGINT is pending, by sigpending(2); main() blocks both signals. A start that
// waits for a database calls this, and ends if it is true. Threads: any that blocks these signals.
bool stop_asked();

// The service of one process.
class Service {
 public:
  // `fatal`: called after an error that only a restart repairs, for example by the store thread
  // when a commit has failed (RuntimeOptions::fatal).
  Service(Config config, std::function<void(const Error&)> fatal);
  ~Service();  // stop()
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Starts the service, and blocks until the service is ready. Call it once. If a database is
  // unreachable, it waits until the database is reachable. After an error, no part runs.
  std::optional<Error> start();
  // Returns the bound addresses. Call it after start().
  ServicePorts ports() const;
  // Returns ServicePorts::text(). Call it after start().
  std::string ports_text() const { return ports().text(); }
  // Reads the token file and the receivers file again. After an error, the values of the file with
  // the mistake are unchanged.
  std::optional<Error> reload();
  // Stops the service: it accepts no new calls, gives open unary calls two seconds, makes all facts
  // durable and writes a checkpoint. It may be called again, and after a start that failed.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace subak

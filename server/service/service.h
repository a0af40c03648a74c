// The whole service in one object: main starts and stops it, and tests run it on port 0.
//
//  store -> follower, runtime -> configuration as inputs -> watchdog, audit -> webhook, gRPC
//  -> edges
//
// The HTTP port listens first and answers "recovering" until all parts run. If the store is a
// database, the webhook also listens before the store is open (server/service/reviewer.h). Threads:
// one thread starts, reloads and stops the service. The headers of the parts name the threads of
// their callbacks.
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

struct ServicePorts {
  // The addresses as bound, so no port is 0.
  ListenAddress webhook, grpc, http;
  // Returns "subakd ready webhook=127.0.0.1:9443 grpc=127.0.0.1:9444 http=127.0.0.1:9445".
  std::string text() const;
};

// True if SIGTERM or SIGINT is pending; main blocks both. A start that waits then ends.
// It uses sigpending(2). Threads: any that blocks these signals.
bool stop_asked();

class Service {
 public:
  // The store thread calls `fatal` when a commit has failed; see RuntimeOptions.
  Service(Config config, std::function<void(const Error&)> fatal);
  ~Service();  // stop()
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Starts the service. After an error, no part runs. Call it once.
  // It blocks until the service is ready. If a database is unreachable, it waits for the database.
  std::optional<Error> start();
  // Returns the bound addresses, after start().
  ServicePorts ports() const;
  // Returns ServicePorts::text(), after start().
  std::string ports_text() const { return ports().text(); }
  // Reads the token file again. On an error the tokens stay unchanged.
  std::optional<Error> reload();
  // Accepts no new calls, answers open ones, makes all facts durable, and writes a checkpoint.
  // Idempotent, also after a failed start. Open unary calls get two seconds.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace subak

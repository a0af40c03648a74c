// The whole service in one object: main starts and stops it, and tests run it on port 0.
//
//  store -> follower, runtime -> configuration as inputs -> watchdog, audit -> webhook, gRPC
//  -> edges
//
// The HTTP port listens first and answers "recovering" until the rest is there. If the store is a
// database, the webhook also listens before it is open (server/service/reviewer.h). Threads: one
// thread starts, reloads and stops. The callbacks between parts follow their own headers.
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
  // As bound: no port is 0.
  ListenAddress webhook, grpc, http;
  // Returns "subakd ready webhook=127.0.0.1:9443 grpc=127.0.0.1:9444 http=127.0.0.1:9445".
  std::string text() const;
};

// True if SIGTERM or SIGINT is pending (main blocks both): a waiting start then ends.
// By sigpending(2). Threads: any that blocks them.
bool stop_asked();

class Service {
 public:
  // `fatal` is called by the store thread when a commit failed; see RuntimeOptions.
  Service(Config config, std::function<void(const Error&)> fatal);
  ~Service();  // stop()
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Starts. An error says what refused the start; nothing runs then.
  // Blocks until the service is ready, for a database as long as that is away. Call it once.
  std::optional<Error> start();
  // After start().
  ServicePorts ports() const;
  // As ServicePorts::text(), after start().
  std::string ports_text() const { return ports().text(); }
  // Reads the token file again. On an error the tokens stay unchanged.
  std::optional<Error> reload();
  // Accepts nothing new, answers open calls, makes everything durable, and writes a checkpoint.
  // Idempotent, also after a failed start. Open unary calls get two seconds.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace subak

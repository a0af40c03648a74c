// The whole service in one object: what main starts and stops, and what tests run on port 0.
//
//   store -> follower, runtime -> configuration as inputs -> watchdog, audit -> webhook, gRPC
//   -> edges
//
// The HTTP port listens first and says "recovering" until the rest is there. Where the store is a database, the webhook
// does before it is open (server/service/reviewer.h).
// Threads: one thread starts, reloads and stops.
// The callbacks between parts follow their own headers.
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
  ListenAddress webhook, grpc, http;  // as bound: no port is 0
  // "subakd ready webhook=127.0.0.1:9443 grpc=127.0.0.1:9444 http=127.0.0.1:9445"
  std::string text() const;
};

// SIGTERM or SIGINT has come and waits to be taken (main blocks both): a start that waits ends then.
bool stop_asked();

class Service {
 public:
  // `fatal` is called by the store thread when a commit failed; see RuntimeOptions.
  Service(Config config, std::function<void(const Error&)> fatal);
  ~Service();  // stop()
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // An error says what refused the start; nothing runs then.
  std::optional<Error> start();
  ServicePorts ports() const;
  std::string ports_text() const { return ports().text(); }
  // Reads the token file again. On an error the tokens stay as they were.
  std::optional<Error> reload();
  // Takes nothing new, answers what is under way, makes everything durable, writes a checkpoint.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace subak

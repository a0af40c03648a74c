// A webhook-only replica in one object (`follow` of the configuration). It answers admission
// reviews by the newest copy of its leader's basis. It has no store, loop, engine, API or edges.
//
//  HTTP port -> the leader's copy is followed -> webhook
//
// Threads: one thread starts and stops.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/error.h"
#include "server/config/config.h"

namespace subak {

class Replica {
 public:
  // `fatal` is called when a listener accepts no connection for long; see Prober.
  Replica(Config config, std::function<void(const Error&)> fatal);
  ~Replica();  // stop()
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  // Starts the replica. After an error, no part runs. An unreachable leader is no error.
  // Fails with kPrecondition or kInvalid if there are too few open files, an address cannot be
  // bound, or a certificate cannot be read. Before the first copy, the webhook gates GPU pods and
  // denies none.
  std::optional<Error> start();
  // Returns a text with the bound addresses: "subakd ready
  // webhook=10.0.0.7:9443 http=10.0.0.7:9445".
  std::string ports_text() const;
  // Does nothing, since each connection to the leader reads token and CA again.
  std::optional<Error> reload() { return std::nullopt; }
  // Stops the replica, after the answers to reviews in flight. Idempotent.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace subak

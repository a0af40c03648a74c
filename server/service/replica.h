// A webhook-only replica in one object, which main starts if Config::follow is set. The replica
// answers admission reviews with the newest copy of the data by which the leader's webhook decides.
// A webhook-only replica has no store, loop, engine, API or edges.
//
//  HTTP port -> the leader's copy is followed -> webhook
//
// Threads: one thread starts and stops the replica.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/error.h"
#include "server/config/config.h"

namespace subak {

// The replica of one process.
class Replica {
 public:
  // `fatal`: called when a listener accepts no connection for a long time; see Prober.
  Replica(Config config, std::function<void(const Error&)> fatal);
  ~Replica();  // stop()
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  // Starts the replica. After an error, no part runs. It fails with kPrecondition or kInvalid if
  // there are too few open files, if an address cannot be bound, or if a certificate cannot be
  // read. An unreachable leader is no error: until the first copy comes, the webhook gates GPU pods
  // and denies none.
  std::optional<Error> start();
  // Returns a text with the bound addresses, such as "subakd ready webhook=10.0.0.7:9443
  // http=10.0.0.7:9445".
  std::string ports_text() const;
  // Does nothing: there is nothing to reload, since each new connection to the leader reads the
  // token and the CA again.
  std::optional<Error> reload() { return std::nullopt; }
  // Stops the replica, after it has answered the reviews in progress. A second call does nothing.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace subak

// A webhook-only replica in one object (`follow` of the configuration). It answers admission
// reviews from its leader's newest copy. It has no store, loop, engine, API or edges.
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
  // `fatal` is called when a listener accepts no connection; see Prober.
  Replica(Config config, std::function<void(const Error&)> fatal);
  ~Replica();  // stop()
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  // Starts. An error says what refused the start; nothing runs then. An unreachable leader is no
  // error.
  // kPrecondition or kInvalid: too few open files, an address that cannot be bound, a certificate
  // that cannot be read. Reviews that come before the first copy are gated and not denied.
  std::optional<Error> start();
  // Returns "subakd ready webhook=10.0.0.7:9443 http=10.0.0.7:9445", as bound.
  std::string ports_text() const;
  // Does nothing: token and CA are read for each connection.
  std::optional<Error> reload() { return std::nullopt; }
  // Idempotent. Reviews in flight are answered.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace subak

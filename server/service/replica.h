// A webhook-only replica in one object (`follow` of the configuration): it answers admission reviews
// from its leader's newest copy, and has no store, loop, engine, API or edges.
//
//   HTTP port -> the leader's copy is followed -> webhook
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
  // `fatal` is called when a listener lets nobody in; see Prober.
  Replica(Config config, std::function<void(const Error&)> fatal);
  ~Replica();  // stop()
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  // An error says what refused the start; nothing runs then. A leader that is away refuses nothing.
  std::optional<Error> start();
  // "subakd ready webhook=10.0.0.7:9443 http=10.0.0.7:9445", as bound.
  std::string ports_text() const;
  // There is nothing to read again: token and CA are read for each connection.
  std::optional<Error> reload() { return std::nullopt; }
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace subak

// One process of the service in a fault world: its runtime, follower and store connection.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "judge.h"
#include "server/leader/standby.h"
#include "server/runtime/follower.h"
#include "server/runtime/runtime.h"
#include "shared_store.h"

namespace subak::fault {

// It waits for its store, follows who leads, leads, or has led and does not know yet that it does no longer.
struct Replica {
  Replica(Database& database, const Clock& clock, std::string name)
      : store(database, clock, std::move(name)) {}

  SharedFaultStore store;
  Judge* judge = nullptr;  // of what it does once it leads
  std::unique_ptr<Follower> follower;
  std::unique_ptr<Runtime> runtime;
  std::unique_ptr<Standby> standby;
  bool follows = false;
  std::uint64_t last_session = 0;
  std::optional<ClockReading> believed;  // service's time and true one, since the wall clock was
  std::int64_t asleep_until_ms = 0;      // boot clock
  bool is_dead = false;                  // it has asked for the end of the process

  bool has_led() const { return judge != nullptr; }
  bool is_asleep(const Clock& clock) const { return clock.boot_ms() < asleep_until_ms; }
};

}  // namespace subak::fault

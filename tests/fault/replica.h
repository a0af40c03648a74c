// One process of the service in a fault world (world.h): runtime, follower, store connection.
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

// The process waits for its store, follows the leader, or leads. Or another process leads already,
// and this process does not know it yet.
struct Replica {
  Replica(Database& database, const Clock& clock, std::string name)
      : store(database, clock, std::move(name)) {}

  SharedFaultStore store;
  Judge* judge = nullptr;  // judges the process once it leads
  std::unique_ptr<Follower> follower;
  std::unique_ptr<Runtime> runtime;
  std::unique_ptr<Standby> standby;
  bool follows = false;
  std::uint64_t last_session = 0;
  // The service's time and the true time when the service began to trust the wall clock.
  std::optional<ClockReading> believed;
  std::int64_t asleep_until_ms = 0;  // boot clock
  bool is_dead = false;              // the process has ended itself

  bool has_led() const { return judge != nullptr; }
  bool is_asleep(const Clock& clock) const { return clock.boot_ms() < asleep_until_ms; }
};

}  // namespace subak::fault

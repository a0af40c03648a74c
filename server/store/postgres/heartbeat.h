// The heartbeat of a leader: writes signs of life and checks that it still leads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "core/error.h"
#include "server/runtime/clock/database_clock.h"
#include "server/runtime/ports.h"
#include "server/store/postgres/database/address.h"
#include "server/store/postgres/database/pg_connection.h"
#include "threads/mutex.h"

namespace subak::postgres {

// Keeps the latest confirmation of several threads.
// `began_ms`: before the heartbeat was sent. It never goes back.
void note_confirmed(std::atomic<std::int64_t>& confirmed_ms, std::int64_t began_ms);

// The heartbeat thread, with a connection of its own. Threads: any.
// A database that does not answer is no news: it tries again each limits::kHeartbeatMs. Only a row
// that names another holder ends it.
class Heartbeat {
 public:
  // What the thread works with. References are to the store's own members.
  struct Of {
    const Address& address;
    const Clock& clock;
    // The name of this process, as in the row of the lead.
    const std::string& holder;
    // The epoch of this process.
    const std::atomic<std::int64_t>& epoch;
    // While true no heartbeat is sent, as when commits get no answer.
    const std::atomic<bool>& silent;
    // When the last accepted heartbeat began, by the boot clock. note_confirmed() raises it.
    std::atomic<std::int64_t>& confirmed_ms;
    // Called once, on this thread, when another process leads. May be empty.
    std::function<void(const Error&)> lost;
    // Gets the database's clock with each accepted heartbeat. May be empty.
    std::function<void(const ClockSample&)> on_time;
  };
  // The referents of `of` outlive it.
  // Starts the thread; the first heartbeat is sent at once.
  explicit Heartbeat(Of of);
  // Joins. A statement under way is waited for. Not from `lost`.
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;
  // Sends `said` with the next heartbeat, which comes at once, and with later ones. Empty: the row
  // keeps its text.
  void tell(std::string said);

 private:
  // The thread, until the destructor or a lost lead.
  void run();
  // Sends one heartbeat. An error: another process leads.
  std::optional<Error> look(PgConnection& db, const std::string& said);

  const Of of_;
  Mutex mutex_;
  CondVar wake_;
  bool stop_ SUBAK_GUARDED_BY(mutex_) = false;
  // The next heartbeat is sent without a wait.
  bool is_due_ SUBAK_GUARDED_BY(mutex_) = false;
  // What tell() got last; empty: nothing.
  std::string said_ SUBAK_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace subak::postgres

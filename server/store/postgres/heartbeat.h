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
  struct Of {
    const Address& address;
    const Clock& clock;
    const std::string& holder;                // as in the row of the lead
    const std::atomic<std::int64_t>& epoch;   // of this process
    const std::atomic<bool>& silent;          // no heartbeat is sent, as when commits get no answer
    std::atomic<std::int64_t>& confirmed_ms;  // when the last accepted heartbeat began, boot clock
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
  void run();
  // Sends one heartbeat. An error: another process leads.
  std::optional<Error> look(PgConnection& db, const std::string& said);

  const Of of_;
  Mutex mutex_;
  CondVar wake_;
  bool stop_ SUBAK_GUARDED_BY(mutex_) = false;
  bool is_due_ SUBAK_GUARDED_BY(mutex_) = false;
  std::string said_ SUBAK_GUARDED_BY(mutex_);  // under the mutex
  std::thread thread_;
};

}  // namespace subak::postgres

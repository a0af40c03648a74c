// The heartbeat of a leader: it writes signs of life into the database, and checks that this
// process still leads.
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

// Raises `confirmed_ms` to `began_ms`, the time before a heartbeat was sent.
// The value never goes back, also with several threads.
void note_confirmed(std::atomic<std::int64_t>& confirmed_ms, std::int64_t began_ms);

// The heartbeat thread, with its own connection. Threads: any.
// If the database does not answer, it tries again every limits::kHeartbeatMs. It ends only if the
// row of the lead names another holder.
class Heartbeat {
 public:
  // The data for the thread. The references are to members of the store.
  struct Of {
    const Address& address;
    const Clock& clock;
    // The name of this process in the row of the lead.
    const std::string& holder;
    // The epoch of this process.
    const std::atomic<std::int64_t>& epoch;
    // While true, no heartbeat is sent, for example when commits get no answer.
    const std::atomic<bool>& silent;
    // When the last accepted heartbeat began, by the boot clock. note_confirmed() raises it.
    std::atomic<std::int64_t>& confirmed_ms;
    // Called once on this thread if another process leads. May be empty.
    std::function<void(const Error&)> lost;
    // Gets the database's clock with each accepted heartbeat. May be empty.
    std::function<void(const ClockSample&)> on_time;
  };
  // Starts the thread, which sends the first heartbeat at once.
  // The objects that `of` refers to outlive this object.
  explicit Heartbeat(Of of);
  // Joins the thread, after a statement in progress. Do not destroy this object in `lost`.
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;
  // Sends a heartbeat with the text `said` at once, and the text with all later heartbeats. Empty:
  // the row's text stays unchanged.
  void tell(std::string said);

 private:
  // The thread's work, until the destructor, or until another process leads.
  void run();
  // Sends one heartbeat. An error: another process leads.
  std::optional<Error> look(PgConnection& db, const std::string& said);

  const Of of_;
  Mutex mutex_;
  CondVar wake_;
  bool stop_ SUBAK_GUARDED_BY(mutex_) = false;
  // True: the next heartbeat is sent without a wait.
  bool is_due_ SUBAK_GUARDED_BY(mutex_) = false;
  // The last text of tell(); empty: there is none.
  std::string said_ SUBAK_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace subak::postgres

// The heartbeat of a leader: a thread that writes signs of life into the database, and checks that
// this process still leads. Of the processes that share a database, the leader is the one that
// commits. Private to the PostgreSQL store.
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

// Raises `confirmed_ms` to `began_ms`, a time before a heartbeat was sent. The value never goes
// back, even if several threads call this at the same time.
void note_confirmed(std::atomic<std::int64_t>& confirmed_ms, std::int64_t began_ms);

// The thread of the heartbeat, with a separate connection. After each heartbeat it waits for
// limits::kHeartbeatMs. It does so even if the database did not answer. The thread ends only in the
// destructor, or if another process leads. Threads: any may call tell().
class Heartbeat {
 public:
  // The values and callbacks that the thread uses. The references are to members of the store.
  struct Of {
    const Address& address;
    const Clock& clock;
    // The name of this process in the table lead.
    const std::string& holder;
    // The epoch of this process: the number of its leadership.
    const std::atomic<std::int64_t>& epoch;
    // While `silent` is true, the thread sends no heartbeat. The store sets `silent`, for example
    // when a commit gets no answer.
    const std::atomic<bool>& silent;
    // When the last accepted heartbeat was begun, by the boot clock. note_confirmed() raises it.
    std::atomic<std::int64_t>& confirmed_ms;
    // Called once on the heartbeat's thread if another process leads. `lost` may be empty.
    std::function<void(const Error&)> lost;
    // Gets the time of the database's clock with each accepted heartbeat. `on_time` may be empty.
    std::function<void(const ClockSample&)> on_time;
  };
  // Starts the thread, which sends the first heartbeat at once. The objects to which `of` refers
  // must outlive this object.
  explicit Heartbeat(Of of);
  // Joins the thread, after the statement in progress has ended. Do not destroy this object in
  // `lost`.
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;
  // Makes the thread send a heartbeat at once, unless Of::silent is true. This heartbeat and all
  // later ones write the text `said` for other replicas. If `said` is empty, the text in the
  // database stays unchanged.
  void tell(std::string said);

 private:
  // The main function of the thread. The thread ends when the destructor runs, or when another
  // process leads.
  void run();
  // Sends one heartbeat. An error: another process leads.
  std::optional<Error> look(PgConnection& db, const std::string& said);

  const Of of_;
  Mutex mutex_;
  CondVar wake_;
  bool stop_ SUBAK_GUARDED_BY(mutex_) = false;
  // True: the next heartbeat is sent without a wait.
  bool is_due_ SUBAK_GUARDED_BY(mutex_) = false;
  // The text of the last call of tell(); empty: there is none.
  std::string said_ SUBAK_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace subak::postgres

// The signs of life of a process that leads, and its look whether it still does.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/error.h"
#include "server/runtime/database_clock.h"
#include "server/runtime/ports.h"
#include "server/store/postgres/address.h"
#include "server/store/postgres/pg_connection.h"

namespace subak::postgres {

// Of what several threads confirm the latest counts.
void note_confirmed(std::atomic<std::int64_t>& confirmed_ms, std::int64_t began_ms);

// A thread with a connection of its own. Threads: any.
class Beats {
 public:
  struct Of {
    const Address& address;
    const Clock& clock;
    const std::string& holder;                // as the row of the lead has us
    const std::atomic<std::int64_t>& epoch;   // ours
    const std::atomic<bool>& silent;          // no sign is given, as when commits get no answer
    std::atomic<std::int64_t>& confirmed_ms;  // when the last sign that was taken began, boot clock
    // Called once, on this thread, when another is seen to lead. May be empty.
    std::function<void(const Error&)> lost;
    // What the database's clock shows, with each sign that was taken. May be empty.
    std::function<void(const ClockSample&)> on_time;
  };
  // What `of` refers to outlives it.
  explicit Beats(Of of);
  ~Beats();
  Beats(const Beats&) = delete;
  Beats& operator=(const Beats&) = delete;
  // Said with the next sign of life, which comes at once, and those after it. Empty: what the row says stays.
  void tell(std::string said);

 private:
  void run();
  std::optional<Error> look(PgConnection& db, const std::string& said);

  const Of of_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  bool is_due_ = false;
  std::string said_;  // under the mutex
  std::thread thread_;
};

}  // namespace subak::postgres

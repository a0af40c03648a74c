#include "server/store/postgres/heartbeat.h"

#include <chrono>
#include <utility>

#include "core/limits.h"
#include "server/log/thread_name.h"
#include "server/store/postgres/leadership.h"

namespace subak::postgres {

Heartbeat::Heartbeat(Of of) : of_(std::move(of)), thread_([this] { run(); }) {}

Heartbeat::~Heartbeat() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Heartbeat::tell(std::string said) {
  {
    const MutexLock lock(mutex_);
    said_ = std::move(said);
    is_due_ = true;
  }
  wake_.notify_all();
}

void note_confirmed(std::atomic<std::int64_t>& confirmed_ms, std::int64_t began_ms) {
  std::int64_t before = confirmed_ms;
  while (before < began_ms && !confirmed_ms.compare_exchange_weak(before, began_ms)) {
  }
}

// Without this check, a former leader that slept and has nothing to commit would not notice that
// another process leads, and would show an old state. The epoch may be a newer one of this process:
// the holder's name decides.
std::optional<Error> Heartbeat::look(PgConnection& db, const std::string& said) {
  if (of_.silent || (!db.is_open() && db.open(of_.address))) return std::nullopt;
  const std::int64_t began_ms = of_.clock.boot_ms();
  const PgResult row = beat(db, of_.epoch, said);
  if (!row.ok()) return std::nullopt;
  if (row.rows() > 0) {
    note_confirmed(of_.confirmed_ms, began_ms);
    if (of_.on_time) of_.on_time({row.number(0, kTimeOfHeartbeat), began_ms, of_.clock.boot_ms()});
    return std::nullopt;
  }
  const auto seen = look_at_lead(db);
  if (!seen.ok() || seen->lead.holder.empty() || seen->lead.holder == of_.holder) {
    return std::nullopt;
  }
  return leads_by_now(seen->lead.holder);
}

void Heartbeat::run() {
  name_thread("beats");
  PgConnection db;
  std::string said;
  while (true) {
    if (const auto error = look(db, said)) {
      if (of_.lost) of_.lost(*error);
      return;
    }
    MutexLock lock(mutex_);
    wake_.wait_for(lock, std::chrono::milliseconds(limits::kHeartbeatMs),
                   [&]() SUBAK_REQUIRES(mutex_) { return stop_ || is_due_; });
    if (stop_) return;
    is_due_ = false;
    said = said_;
  }
}

}  // namespace subak::postgres

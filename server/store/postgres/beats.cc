#include "server/store/postgres/beats.h"

#include <chrono>

#include "core/limits.h"
#include "server/log/thread_name.h"
#include "server/store/postgres/lead.h"

namespace subak::postgres {

Beats::Beats(const Address& address, const std::atomic<std::int64_t>& epoch,
             const std::atomic<bool>& silent)
    : address_(address), epoch_(epoch), silent_(silent), thread_([this] { run(); }) {}

Beats::~Beats() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Beats::run() {
  name_thread("beats");
  PgConnection db;
  while (true) {
    if (!silent_ && (db.is_open() || !db.open(address_))) beat(db, epoch_);
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, std::chrono::milliseconds(limits::kBeatMs), [&] { return stop_; });
    if (stop_) return;
  }
}

}  // namespace subak::postgres

#include "server/store/postgres/beats.h"

#include <chrono>
#include <utility>

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

void Beats::tell(std::string said) {
  {
    const std::lock_guard lock(mutex_);
    said_ = std::move(said);
    is_due_ = true;
  }
  wake_.notify_all();
}

void Beats::run() {
  name_thread("beats");
  PgConnection db;
  std::string said;
  while (true) {
    if (!silent_ && (db.is_open() || !db.open(address_))) beat(db, epoch_, said);
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, std::chrono::milliseconds(limits::kBeatMs),
                   [&] { return stop_ || is_due_; });
    if (stop_) return;
    is_due_ = false;
    said = said_;
  }
}

}  // namespace subak::postgres

#include "server/store/file/wal_copier.h"

#include <sqlite3.h>

#include "server/log/log.h"
#include "server/log/thread_name.h"

namespace subak {

WalCopier::~WalCopier() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::optional<Error> WalCopier::start(const std::string& path, Connection& writer, int pages) {
  pages_ = pages;
  if (!db_.open(path, OpenMode::kReadWrite) || !db_.exec("PRAGMA synchronous=FULL")) {
    return db_.error("store.open");
  }
  sqlite3_wal_hook(writer.get(), &WalCopier::hook, this);
  thread_ = std::thread([this] { run(); });
  return std::nullopt;
}

std::uint64_t WalCopier::copies() const {
  const MutexLock lock(mutex_);
  return copies_;
}

int WalCopier::hook(void* self, sqlite3*, const char*, int pages) {
  static_cast<WalCopier*>(self)->written(pages);
  return SQLITE_OK;
}

void WalCopier::written(int pages) {
  if (pages < pages_) return;
  {
    const MutexLock lock(mutex_);
    due_ = true;
  }
  wake_.notify_all();
}

void WalCopier::run() {
  name_thread("wal");
  MutexLock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&]() SUBAK_REQUIRES(mutex_) { return due_ || stopping_; });
    if (stopping_) return;
    due_ = false;
    lock.unlock();
    copy();
    lock.lock();
    ++copies_;
  }
}

// Copies the bulk while commits go on, then the rest without them, since the log restarts only
// after all of it was copied.
void WalCopier::copy() {
  copy_once();
  const WriteGate::Turn turn(gate_, WriteGate::Who::kBackground);
  copy_once();
}

// What was not copied stays in the log, which is equally durable; the log only grows.
void WalCopier::copy_once() {
  const int code =
      sqlite3_wal_checkpoint_v2(db_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  const bool ok = code == SQLITE_OK || db_.code() == SQLITE_BUSY;
  if (!ok && !failing_) log::warn("log not copied", {{"error", db_.error("store.wal").message()}});
  failing_ = !ok;
}

}  // namespace subak

#include "server/api/streams/store_reads.h"

#include <utility>

#include "server/log/thread_name.h"

namespace subak::api {

std::optional<Error> StoreReads::start(Store& store) {
  auto reader = store.open_reader();
  if (!reader) return reader.error();
  reader_ = std::move(*reader);
  {
    const MutexLock lock(mutex_);
    running_ = true;
  }
  thread_ = std::thread([this] { work(); });
  return std::nullopt;
}

void StoreReads::stop() {
  {
    const MutexLock lock(mutex_);
    running_ = false;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

Queued StoreReads::run(const std::string& caller, Task task) {
  {
    const MutexLock lock(mutex_);
    if (!running_) return Queued::kStopped;
    const Queued queued = tasks_.push(caller, std::move(task));
    if (queued != Queued::kYes) return queued;
  }
  wake_.notify_one();
  return Queued::kYes;
}

void StoreReads::work() {
  name_thread("store reads");
  MutexLock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this]() SUBAK_REQUIRES(mutex_) { return !tasks_.empty() || !running_; });
    auto next = tasks_.take();
    if (!next) return;
    lock.unlock();
    next->second(*reader_);
    next->second = nullptr;  // what it keeps alive is freed without the lock
    lock.lock();
    tasks_.done(next->first);
  }
}

}  // namespace subak::api

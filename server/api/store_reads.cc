#include "server/api/store_reads.h"

#include <utility>

#include "core/limits.h"
#include "server/log/thread_name.h"

namespace subak::api {

std::optional<Error> StoreReads::start(Store& store) {
  auto reader = store.open_reader();
  if (!reader) return reader.error();
  reader_ = std::move(*reader);
  running_ = true;
  thread_ = std::thread([this] { work(); });
  return std::nullopt;
}

void StoreReads::stop() {
  {
    const std::scoped_lock lock(mutex_);
    running_ = false;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

bool StoreReads::run(Task task) {
  {
    const std::scoped_lock lock(mutex_);
    if (!running_ || tasks_.size() >= limits::kMaxStoreReads) return false;
    tasks_.push_back(std::move(task));
  }
  wake_.notify_one();
  return true;
}

void StoreReads::work() {
  name_thread("store reads");
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return !tasks_.empty() || !running_; });
    if (tasks_.empty()) return;
    const Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task(*reader_);
    lock.lock();
  }
}

}  // namespace subak::api

#include "server/api/streams/desk.h"

#include <utility>

namespace subak::api {

std::optional<std::string> Desk::begin(const std::string& caller) {
  const MutexLock lock(mutex_);
  if (stopping_) return std::string();
  if (caller_) return *caller_;
  caller_ = caller;
  return std::nullopt;
}

void Desk::run(std::function<void()> work) {
  const MutexLock lock(mutex_);
  if (stopping_) return;
  if (thread_.joinable()) thread_.join();  // of the last work, which has called end()
  thread_ = std::thread(std::move(work));
}

void Desk::end() {
  const MutexLock lock(mutex_);
  caller_.reset();
}

void Desk::stop() {
  std::thread last;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    last.swap(thread_);
  }
  if (last.joinable()) last.join();
}

}  // namespace subak::api

#include "server/store/proof/file_watch.h"

#include <chrono>
#include <utility>

#include "server/log/thread_name.h"

namespace subak {
namespace {

constexpr std::chrono::seconds kEvery{1};

}  // namespace

FileWatch::~FileWatch() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void FileWatch::start(std::function<void(const Error&)> lost) {
  thread_ = std::thread([this, lost = std::move(lost)] { run(lost); });
}

void FileWatch::run(const std::function<void(const Error&)>& lost) {
  name_thread("files");
  MutexLock lock(mutex_);
  while (!wake_.wait_for(lock, kEvery, [&]() SUBAK_REQUIRES(mutex_) { return stopping_; })) {
    if (const auto error = lock_.check()) return lost(*error);
  }
}

}  // namespace subak

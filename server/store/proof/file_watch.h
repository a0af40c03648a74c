// Checks once a second that no file of a store was removed or replaced. Without this check, a
// service that makes no commits would not notice such a loss. Threads: one at a time; the object's
// own thread does the checks.
#pragma once

#include <functional>
#include <thread>

#include "core/error.h"
#include "server/store/file/store_lock.h"
#include "threads/mutex.h"

namespace subak {

// The watch of one store's files.
class FileWatch {
 public:
  // `lock` must outlive this object. StoreLock::watch() must have been called.
  explicit FileWatch(const StoreLock& lock) : lock_(lock) {}
  // Ends the thread and joins it. Do not destroy this object in `lost`.
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  // Starts the thread. Call it once. If a file is removed or replaced, the thread calls `lost` once
  // and ends. The thread may not notice a file that is absent for less than a second.
  void start(std::function<void(const Error&)> lost);

 private:
  void run(const std::function<void(const Error&)>& lost);

  const StoreLock& lock_;
  Mutex mutex_;
  CondVar wake_;
  bool stopping_ SUBAK_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace subak

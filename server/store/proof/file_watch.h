// Checks once a second that a store's files are still the ones under their names. A service without
// commits would not notice.
#pragma once

#include <functional>
#include <thread>

#include "core/error.h"
#include "server/store/file/store_lock.h"
#include "threads/mutex.h"

namespace subak {

class FileWatch {
 public:
  // `lock` outlives it and watches already (StoreLock::watch()).
  explicit FileWatch(const StoreLock& lock) : lock_(lock) {}
  // Ends the thread and joins. Not from `lost`.
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  // Starts the thread. It calls `lost` once on the watch's thread and then ends.
  // Call it once. Without a lost file nothing is called. A file that is away for less than a second
  // may go unnoticed.
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

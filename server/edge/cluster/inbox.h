// Hands work from other threads to the edge's thread, such as the core's replies. Threads: any
// thread may call any member.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "threads/mutex.h"

namespace subak {

// The tasks that the edge's thread must run. Pending replies and reads own a reference to the
// inbox, so it may outlive the edge.
class Inbox {
 public:
  using Task = std::function<void()>;
  // `wake` wakes the edge's thread. The inbox calls it with its mutex locked.
  explicit Inbox(std::function<void()> wake) : wake_(std::move(wake)) {}

  // Adds a task and wakes the edge's thread. Does nothing after close().
  void put(Task task) SUBAK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (!wake_) return;
    tasks_.push_back(std::move(task));
    wake_();
  }
  // Wakes the edge's thread without a task. Does nothing after close().
  void wake() SUBAK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (wake_) wake_();
  }
  // Takes out all tasks, in the order of put().
  std::vector<Task> take() SUBAK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return std::exchange(tasks_, {});
  }
  // Drops the tasks. The inbox never calls `wake` after that.
  void close() SUBAK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    wake_ = nullptr;
    tasks_.clear();
  }

 private:
  Mutex mutex_;
  // Empty after close().
  std::function<void()> wake_ SUBAK_GUARDED_BY(mutex_);
  // The oldest first.
  std::vector<Task> tasks_ SUBAK_GUARDED_BY(mutex_);
};

}  // namespace subak

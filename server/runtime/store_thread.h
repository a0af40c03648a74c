// The store thread: makes one batch of facts at a time durable, while the loop (the thread that
// decides) fills the next batch. Private to server/runtime.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "server/runtime/ports.h"
#include "threads/mutex.h"

namespace subak {

// The thread has no queue: the loop gives it the next batch only after `done` was called for the
// last one.
class StoreThread {
 public:
  // The result for a batch. An error is final: the store's state is unknown, so the process ends.
  struct Done {
    // nullopt: the batch is durable.
    std::optional<Error> error;
    // The duration of the commit in microseconds; 0: the batch had no facts.
    std::int64_t commit_us = 0;
    // Store::owned_until_ms() after the commit.
    std::int64_t owned_until_ms = INT64_MAX;
  };
  // Starts the thread, which calls `done` after each batch. `store` and `clock` must outlive this
  // object.
  StoreThread(Store& store, const Clock& clock, std::function<void(Done)> done);
  ~StoreThread();  // finishes the batch in flight
  StoreThread(const StoreThread&) = delete;
  StoreThread& operator=(const StoreThread&) = delete;

  // Gives a batch to the store thread, and returns at once. Asserts that no batch waits. For a
  // batch without facts, the thread commits nothing and only checks that this process still owns
  // the store. Threads: only the loop's thread calls it.
  void commit(std::shared_ptr<const std::vector<Fact>> facts);
  // Commits one batch on the calling thread, and blocks until the store has answered. Tests without
  // threads call it too (RuntimeOptions::stepped).
  static Done commit_now(Store& store, const Clock& clock, const std::vector<Fact>& facts);

 private:
  // The main function of the thread: commits one batch after the other, until the destructor ends
  // it.
  void run();

  Store& store_;
  const Clock& clock_;
  std::function<void(Done)> done_;
  Mutex mutex_;
  CondVar wake_;
  // The next batch; nullptr: none.
  std::shared_ptr<const std::vector<Fact>> batch_ SUBAK_GUARDED_BY(mutex_);
  bool stopping_ SUBAK_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace subak

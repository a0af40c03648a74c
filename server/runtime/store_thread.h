// The store thread: makes one batch at a time durable, while the loop fills the next.
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

// The thread has no queue: the loop gives the next batch after `done`.
class StoreThread {
 public:
  // The result for a batch.
  // An error is final: the store's state is unknown, and the process ends.
  struct Done {
    // nullopt: the batch is durable.
    std::optional<Error> error;
    // Duration of the commit in microseconds; 0 without facts.
    std::int64_t commit_us = 0;
    // Store::owned_until_ms() after the commit.
    std::int64_t owned_until_ms = INT64_MAX;
  };
  // `done` runs on the store thread after each batch.
  // `store` and `clock` outlive this object.
  StoreThread(Store& store, const Clock& clock, std::function<void(Done)> done);
  ~StoreThread();  // finishes the batch in flight
  StoreThread(const StoreThread&) = delete;
  StoreThread& operator=(const StoreThread&) = delete;

  // Gives a batch to the store; at most one at a time. For a batch without facts, the thread makes
  // no commit and only checks that this process still owns the store.
  // Returns at once. Threads: the loop's. Asserts that no batch waits.
  void commit(std::shared_ptr<const std::vector<Fact>> facts);
  // Commits one batch on the calling thread.
  // Stepped mode calls it too. It blocks as long as the store does.
  static Done commit_now(Store& store, const Clock& clock, const std::vector<Fact>& facts);

 private:
  // The thread's work: commits one batch after the other, until the destructor.
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

// Runs reads of ledger and audit rows on one thread, with a database connection of its own.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "core/error.h"
#include "core/limits.h"
#include "server/runtime/fair_queue.h"
#include "server/runtime/ports.h"
#include "threads/mutex.h"

namespace subak::api {

// Owns the thread and the reader. A task gets the reader for the time of its call. A second read of
// the same caller never delays another caller by more than one task.
class StoreReads {
 public:
  using Task = std::function<void(StoreReader&)>;
  StoreReads() = default;
  ~StoreReads() { stop(); }
  StoreReads(const StoreReads&) = delete;
  StoreReads& operator=(const StoreReads&) = delete;

  // Opens the reader and starts the thread. `store` outlives this. The error is the store's: it
  // cannot be opened. Call it once; before it, run() answers kStopped.
  std::optional<Error> start(Store& store);
  // Finishes the queued tasks and joins.
  // Later run() answer kStopped. Not from a task.
  void stop();
  // Queues a task. Callers take turns. Long work queues itself again after a bounded part, so that
  // other callers get theirs. At most limits::kMaxReadsPerCaller tasks of one caller and
  // limits::kMaxStoreReads in all are queued; a task beyond that is dropped. Threads: any.
  // kYes: the task will run once, on the thread of this object, or at the latest in stop(). Other
  // answers: it will not.
  Queued run(const std::string& caller, Task task);

 private:
  void work();

  std::unique_ptr<StoreReader> reader_;
  Mutex mutex_;
  CondVar wake_;
  FairQueue<Task> tasks_ SUBAK_GUARDED_BY(mutex_){limits::kMaxStoreReads,
                                                  limits::kMaxReadsPerCaller};
  bool running_ SUBAK_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace subak::api

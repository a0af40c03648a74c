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

// Owns the thread and the reader. A task may use the reader while the task runs. However many tasks
// one caller queues, another caller waits for at most one of them.
class StoreReads {
 public:
  using Task = std::function<void(StoreReader&)>;
  StoreReads() = default;
  ~StoreReads() { stop(); }
  StoreReads(const StoreReads&) = delete;
  StoreReads& operator=(const StoreReads&) = delete;

  // Opens the reader and starts the thread. `store` outlives this. The error says why the store
  // cannot be opened. Call it once. Before that, run() answers kStopped.
  std::optional<Error> start(Store& store);
  // Finishes the queued tasks and joins the thread.
  // Later calls of run() answer kStopped. Do not call it from a task.
  void stop();
  // Queues a task. Callers take turns. Long work must do a bounded part, then queue itself again,
  // so that other callers get their turns. At most limits::kMaxReadsPerCaller tasks of one caller
  // and limits::kMaxStoreReads in all are queued; a task beyond that is dropped. Threads: any.
  // kYes: the task will run once, on the thread of this object, at the latest during stop(). Other
  // answers: it will not run.
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

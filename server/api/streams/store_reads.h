// Runs reads of rows of the ledger and the audit log on one thread, with a separate database
// connection.
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

  // Opens the reader and starts the thread. Call it once. `store` must outlive this object. The
  // error says why the reader cannot be opened. Until start() has succeeded, run() returns
  // kStopped.
  std::optional<Error> start(Store& store);
  // Finishes the queued tasks and joins the thread. After that, run() returns kStopped. Do not call
  // it from a task.
  void stop();
  // Queues a task. Callers take turns (FairQueue). A task should do a bounded part of long work,
  // and then queue itself again, so that other callers get their turns. kYes: the task will run
  // once, on the thread of this object, at the latest during stop(). Any other result: the task was
  // dropped, because limits::kMaxReadsPerCaller or limits::kMaxStoreReads is reached, or because
  // the thread does not run. Threads: any.
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

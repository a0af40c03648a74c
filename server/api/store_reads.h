// Reads of ledger and audit rows, on one thread with a connection of its own.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "core/error.h"
#include "server/runtime/ports.h"

namespace subak::api {

class StoreReads {
 public:
  using Task = std::function<void(StoreReader&)>;
  StoreReads() = default;
  ~StoreReads() { stop(); }
  StoreReads(const StoreReads&) = delete;
  StoreReads& operator=(const StoreReads&) = delete;

  std::optional<Error> start(Store& store);
  // Works off what is queued and joins.
  void stop();
  // Queues a task. Long work queues itself again after a bounded part, so that others get their
  // turn. False: the queue is full (limits::kMaxStoreReads) or not running; the task is not kept
  // then. Threads: any.
  bool run(Task task);

 private:
  void work();

  std::unique_ptr<StoreReader> reader_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> tasks_;
  bool running_ = false;
  std::thread thread_;
};

}  // namespace subak::api

// Recomputes the usage of all accounts after an edit of the half-life, the time after which usage
// counts half (docs/design/0108). A thread of low priority reads the facts up to this edit, with
// its own connection to the store. It then posts the new usage to the loop, the thread that decides
// (in::HalfLifeRead). The loop never waits for this thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "core/quantity.h"
#include "engine/forecast/half_life_fold.h"
#include "model/policy.h"
#include "server/runtime/ports.h"
#include "server/runtime/runtime.h"
#include "threads/mutex.h"

namespace subak {

// The thread that recomputes. Threads: one at a time may call start() and stop().
class HalfLifeReader {
 public:
  // `runtime` and `store` must outlive the reader. Starts no thread.
  HalfLifeReader(Runtime& runtime, Store& store) : runtime_(runtime), store_(store) {}
  // Calls stop().
  ~HalfLifeReader();
  HalfLifeReader(const HalfLifeReader&) = delete;
  HalfLifeReader& operator=(const HalfLifeReader&) = delete;

  // Starts the thread. Only the leader reads. Call it once, after Runtime::start().
  void start();
  // Stops the thread. Call it before Runtime::stop(). A second call does nothing.
  void stop();
  // Returns how many facts the thread has read for the present change. Threads: any.
  std::uint64_t facts_read() const { return facts_read_; }

 private:
  // run(), look(), read() and post() run on the thread.
  void run();
  // Does one step of the change under way, if there is one. Returns how long to wait before the
  // next step.
  DurationMs look();
  // Reads a page of facts, and adds their usage. Stops at the fact that began the change. Returns
  // how long to wait before the next step.
  DurationMs read(const HalfLifeChange& change);
  // Posts the new usage, and waits for the reply or for stop().
  void post(const HalfLifeChange& change);
  // Waits for `ms` ms, or until stop() is called. False: stop() was called.
  bool pause(DurationMs ms);

  Runtime& runtime_;
  Store& store_;
  // Only the thread uses these members. nullptr: nothing was read yet.
  std::unique_ptr<StoreReader> reader_;
  std::unique_ptr<HalfLifeFold> fold_;
  std::atomic<std::uint64_t> facts_read_{0};
  Mutex mutex_;
  CondVar wake_;
  bool stopping_ SUBAK_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace subak

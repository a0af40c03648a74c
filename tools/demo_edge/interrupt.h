// Waits for SIGINT and SIGTERM. Create it before any other thread, since later threads then have
// these signals blocked.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace subak::demo {

// Blocks both signals for the thread that creates it, and for threads created later. A child
// process must unblock them (Process does). Only the first signal counts.
class Interrupt {
 public:
  // When a signal arrives, it calls `then` once, on a separate thread.
  // It also calls `then` once if the object is destroyed without a signal.
  explicit Interrupt(std::function<void()> then);
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  // Joins that thread.
  ~Interrupt();

  // Waits for `ms` ms and returns true. Returns false as soon as a signal has arrived.
  // Threads: any.
  bool wait(int ms);
  // True once a signal has arrived. Threads: any.
  bool came() const;

 private:
  // `thread_` calls it.
  const std::function<void()> then_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool came_ = false;
  std::thread thread_;
};

}  // namespace subak::demo

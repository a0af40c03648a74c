// Waits for SIGINT and SIGTERM. Create it before any other thread: later threads leave these
// signals to it.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace subak::demo {

// Blocks both signals for the thread that creates it. A child process must unblock them (Process
// does). Only the first signal counts.
class Interrupt {
 public:
  // `then` is called once, on a thread of its own, when a signal comes.
  // It is also called once if the object is destroyed without a signal.
  explicit Interrupt(std::function<void()> then);
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  // Joins its thread.
  ~Interrupt();

  // Waits; returns false as soon as a signal has come.
  // True after `ms` without one. Threads: any.
  bool wait(int ms);
  // True once a signal has come. Threads: any.
  bool came() const;

 private:
  // Called on `thread_`.
  const std::function<void()> then_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool came_ = false;
  std::thread thread_;
};

}  // namespace subak::demo

// Waits for SIGINT and SIGTERM. Create it before any other thread: later threads leave these
// signals to it.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace subak::demo {

class Interrupt {
 public:
  // `then` is called once, on a thread of its own, when a signal comes.
  explicit Interrupt(std::function<void()> then);
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt();

  // Waits; returns false as soon as a signal has come.
  bool wait(int ms);
  bool came() const;

 private:
  const std::function<void()> then_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool came_ = false;
  std::thread thread_;
};

}  // namespace subak::demo

#include "tools/demo_edge/interrupt.h"

#include <chrono>
#include <csignal>
#include <utility>

namespace subak::demo {
namespace {

sigset_t awaited() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

Interrupt::Interrupt(std::function<void()> then) : then_(std::move(then)) {
  const sigset_t set = awaited();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::thread([this, set] {
    int signal = 0;
    sigwait(&set, &signal);
    {
      const std::scoped_lock lock(mutex_);
      came_ = true;
      changed_.notify_all();
    }
    then_();
  });
}

Interrupt::~Interrupt() {
  if (!came()) pthread_kill(thread_.native_handle(), SIGINT);
  thread_.join();
}

bool Interrupt::wait(int ms) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, std::chrono::milliseconds(ms), [this] { return came_; });
}

bool Interrupt::came() const {
  const std::scoped_lock lock(mutex_);
  return came_;
}

}  // namespace subak::demo

// The signs of life of a process that leads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "server/store/postgres/address.h"

namespace subak::postgres {

// A thread with a connection of its own. Threads: any.
class Beats {
 public:
  // Both outlive it. It is silent while `silent` says so, as when commits get no answer.
  Beats(const Address& address, const std::atomic<std::int64_t>& epoch,
        const std::atomic<bool>& silent);
  ~Beats();
  Beats(const Beats&) = delete;
  Beats& operator=(const Beats&) = delete;
  // Said with the next sign of life, which comes at once, and those after it. Empty: what the row says stays.
  void tell(std::string said);

 private:
  void run();

  const Address& address_;
  const std::atomic<std::int64_t>& epoch_;
  const std::atomic<bool>& silent_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  bool is_due_ = false;
  std::string said_;  // under the mutex
  std::thread thread_;
};

}  // namespace subak::postgres

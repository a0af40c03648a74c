// Gives the threads of the demo (`make demo`, `make play`) a connection to the service. While the
// service is down, a thread that calls the service waits, and a lost call is repeated.
// The reason: the demo kills and restarts the service, and its ports change at each restart.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "tools/demo_edge/process.h"

namespace subak::demo {

// Returns the time in ms since 1970, by the system clock.
std::int64_t wall_ms();
// Returns the time of CLOCK_BOOTTIME in ms. This clock goes on while the machine sleeps, and is
// never set.
std::int64_t boot_ms();

// The service's address, shared by all callers. Threads: any.
class Door {
 public:
  // A connection to the service. It is valid as long as a caller holds it, but the
  // service may have ended.
  struct Link {
    // Where the service listens.
    Ports ports;
    // The channel to the gRPC port.
    std::shared_ptr<grpc::Channel> channel;
  };
  // Sets the ports, and wakes all callers that wait. The plaintext channel connects at the first
  // call, so open() never fails.
  void open(const Ports& ports);
  // From now on, wait() blocks. Calls in progress go on.
  void close();
  // Closes for good. From now on, wait() returns at once.
  void shut();
  // Waits until open() is called, and returns the connection. Returns nothing after shut().
  std::optional<Link> wait();

  // Makes one gRPC call by `fn(stub, context)`, and repeats it while the service is down.
  // `fn` takes a Service::Stub& and a grpc::ClientContext*, both new for each attempt, with a
  // deadline of 20 s. A repetition must do no harm.
  // It repeats after UNAVAILABLE, CANCELLED, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, UNKNOWN and
  // INTERNAL, with pauses of 50 ms, and makes at most 200 attempts. After shut() it returns
  // CANCELLED without a call.
  template <class Service, class Call>
  grpc::Status call(Call fn);
  // Returns the number of repetitions of all calls so far.
  int repeats() const { return repeats_; }

 private:
  // True for the statuses that call() repeats.
  static bool worth_repeating(const grpc::Status& status);
  std::mutex mutex_;
  std::condition_variable changed_;
  // nullopt: the service is down.
  std::optional<Link> link_;
  // True: shut() was called.
  bool shut_ = false;
  std::atomic<int> repeats_{0};
};

template <class Service, class Call>
grpc::Status Door::call(Call fn) {
  constexpr int kTries = 200;
  grpc::Status status(grpc::StatusCode::CANCELLED, "the demo is over");
  for (int i = 0; i < kTries; ++i) {
    const std::optional<Link> link = wait();
    if (!link) return status;
    const auto stub = Service::NewStub(link->channel);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    status = fn(*stub, &context);
    if (status.ok() || !worth_repeating(status)) return status;
    ++repeats_;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return status;
}

}  // namespace subak::demo

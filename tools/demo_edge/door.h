// The present address of the service. A thread that calls the service waits here while it is down,
// and repeats a lost call.
// The demo kills and restarts the service. The ports then change, and a caller must not use the old
// ones.
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

// Since 1970, by the system clock.
std::int64_t wall_ms();
// CLOCK_BOOTTIME: it goes on while the machine sleeps.
// In ms. It is never set.
std::int64_t boot_ms();

// Threads: any.
class Door {
 public:
  // Valid as long as a caller holds it; its service may be gone.
  struct Link {
    // Where the service listens.
    Ports ports;
    // To the gRPC port.
    std::shared_ptr<grpc::Channel> channel;
  };
  // Wakes all callers that wait. It opens a plaintext channel lazily, so no error comes from here.
  void open(const Ports& ports);
  // Callers of wait() wait from now on; calls under way go on.
  void close();
  // Closes for good: wait() returns at once from now on.
  void shut();
  // Waits until it is open; nothing once it is shut.
  std::optional<Link> wait();

  // Makes one gRPC call, repeated while the service is away. `fn(stub, context)` makes it.
  // `fn` takes a Service::Stub& and a grpc::ClientContext*, and must be repeatable. It gets new
  // ones each time, with a deadline of 20 s. Repeated are UNAVAILABLE, CANCELLED,
  // DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, UNKNOWN and INTERNAL, up to 200 times and 50 ms apart.
  // CANCELLED without a call: shut() was called.
  template <class Service, class Call>
  grpc::Status call(Call fn);
  // Of all calls so far.
  int repeats() const { return repeats_; }

 private:
  // True for the statuses that call() repeats.
  static bool worth_repeating(const grpc::Status& status);
  std::mutex mutex_;
  std::condition_variable changed_;
  // nullopt: the service is down.
  std::optional<Link> link_;
  // shut() was called.
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

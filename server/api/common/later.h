// Runs `fn` on a gRPC thread after `delay`, which may be 0. Code on the loop's thread, which
// decides, uses it to leave work for a stream to a gRPC thread, so that the loop does not wait.
#pragma once

#include <grpcpp/alarm.h>

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

namespace subak::api {

// run_later() returns at once. `fn` runs once and cannot be cancelled. Threads: any.
inline void run_later(std::chrono::milliseconds delay, std::function<void()> fn) {
  auto alarm = std::make_shared<grpc::Alarm>();
  grpc::Alarm& set = *alarm;
  // The alarm owns its callback, and the callback owns the alarm. Moving the alarm out of the
  // callback ends this cycle.
  // clock: gRPC sets its alarms by its own clock.
  set.Set(std::chrono::system_clock::now() + delay,
          [alarm = std::move(alarm), fn = std::move(fn)](bool) mutable {
            const auto last = std::move(alarm);
            const auto run = std::move(fn);
            run();
          });
}

}  // namespace subak::api

// Runs something on a gRPC thread, now or after a moment, so that neither the loop nor the follower
// does an edge's work.
#pragma once

#include <grpcpp/alarm.h>

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

namespace subak::api {

inline void run_later(std::chrono::milliseconds delay, std::function<void()> fn) {
  auto alarm = std::make_shared<grpc::Alarm>();
  grpc::Alarm& set = *alarm;
  // The alarm keeps its callback and the callback keeps the alarm; moving out breaks the circle.
  // clock: gRPC's alarms are set in its own.
  set.Set(std::chrono::system_clock::now() + delay,
          [alarm = std::move(alarm), fn = std::move(fn)](bool) mutable {
            const auto last = std::move(alarm);
            const auto run = std::move(fn);
            run();
          });
}

}  // namespace subak::api

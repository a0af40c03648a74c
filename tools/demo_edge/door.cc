#include "tools/demo_edge/door.h"

#include <ctime>

namespace subak::demo {

std::int64_t wall_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

std::int64_t boot_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

void Door::open(const Ports& ports) {
  const std::scoped_lock lock(mutex_);
  link_ = Link{ports, grpc::CreateChannel(ports.grpc, grpc::InsecureChannelCredentials())};
  changed_.notify_all();
}

void Door::close() {
  const std::scoped_lock lock(mutex_);
  link_.reset();
}

void Door::shut() {
  const std::scoped_lock lock(mutex_);
  link_.reset();
  shut_ = true;
  changed_.notify_all();
}

std::optional<Door::Link> Door::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return shut_ || link_; });
  return link_;
}

bool Door::worth_repeating(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
    case grpc::StatusCode::UNKNOWN:
    case grpc::StatusCode::INTERNAL:
      return true;
    default:
      return false;
  }
}

}  // namespace subak::demo

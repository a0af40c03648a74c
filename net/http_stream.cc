#include "net/http_stream.h"

#include <utility>

namespace subak {

bool HttpStream::send(Part part) {
  std::function<void()> wake;
  bool queued = false;
  {
    const MutexLock lock(mutex_);
    if (ended_) return false;
    queued = part->size() <= most_bytes_ - bytes_;
    if (queued) {
      bytes_ += part->size();
      parts_.push_back(std::move(part));
    } else {
      ended_ = true;
      parts_.clear();
      bytes_ = 0;
    }
    wake = wake_;
  }
  if (wake) wake();
  return queued;
}

void HttpStream::end() {
  std::function<void()> wake;
  {
    const MutexLock lock(mutex_);
    if (ended_) return;
    ended_ = true;
    wake = wake_;
  }
  if (wake) wake();
}

bool HttpStream::ended() const {
  const MutexLock lock(mutex_);
  return ended_;
}

void HttpStream::attach(std::function<void()> wake) {
  const MutexLock lock(mutex_);
  wake_ = std::move(wake);
}

std::vector<HttpStream::Part> HttpStream::take() {
  const MutexLock lock(mutex_);
  bytes_ = 0;
  return std::exchange(parts_, {});
}

}  // namespace subak

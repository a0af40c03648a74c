#include "server/runtime/effect_stream.h"

#include <utility>

#include "core/limits.h"

namespace subak {

EffectStream::EffectStream(std::function<void()> wake) : wake_(std::move(wake)) {}

std::vector<Effect> EffectStream::take() {
  const MutexLock lock(mutex_);
  return std::exchange(waiting_, {});
}

EffectStream::State EffectStream::state() const {
  const MutexLock lock(mutex_);
  return state_;
}

void EffectStream::cancel() {
  {
    const MutexLock lock(mutex_);
    if (state_ == State::kOpen) state_ = State::kCancelled;
    waiting_.clear();
  }
  const MutexLock lock(wake_mutex_);
  wake_ = nullptr;
}

// The first push (the outstanding effects) may have any size. If it were refused once, it would
// always be refused.
bool EffectStream::push(std::span<const Effect> effects) {
  bool was_empty = false;
  bool open = true;
  {
    const MutexLock lock(mutex_);
    if (state_ != State::kOpen) return false;
    was_empty = waiting_.empty();
    open = was_empty || waiting_.size() + effects.size() <= limits::kMaxEffectBacklog;
    if (open) {
      waiting_.insert(waiting_.end(), effects.begin(), effects.end());
    } else {
      state_ = State::kOverflowed;
    }
  }
  if (!open || (was_empty && !effects.empty())) wake();
  return open;
}

void EffectStream::stop() {
  {
    const MutexLock lock(mutex_);
    if (state_ != State::kOpen) return;
    state_ = State::kStopped;
  }
  wake();
}

void EffectStream::wake() {
  const MutexLock lock(wake_mutex_);
  if (wake_) wake_();
}

}  // namespace subak

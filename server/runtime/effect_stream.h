// A bounded queue of effects from the loop to one edge. The edge is an external one (a gRPC
// stream), or an edge of this service.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/effect.h"
#include "threads/mutex.h"

namespace subak {

// The loop pushes effects, and one reader takes them. The stream closes if effects already wait and
// a push would make them more than limits::kMaxEffectBacklog. The reader then subscribes again. The
// new stream begins with all outstanding effects, so no effect is lost. Threads:
// any may call all members.
class EffectStream {
 public:
  // kOverflowed: the reader was too slow. kStopped: the service ends. kCancelled:
  // the reader called cancel().
  enum class State : std::uint8_t { kOpen, kOverflowed, kStopped, kCancelled };

  // The stream calls `wake` when the queue becomes non-empty and when the stream closes, without
  // holding the lock of the queue. `wake` runs on the loop's thread, so it must only signal.
  explicit EffectStream(std::function<void()> wake);

  // Takes all waiting effects, in order; empty if there are none. It also works after the stream
  // has closed.
  std::vector<Effect> take();
  State state() const;
  // Closes the stream for the reader. `wake` is not called after this returns. Call it before the
  // objects that `wake` uses are destroyed.
  void cancel();

  // Adds effects; for the runtime. False: the stream is closed, maybe by this call, and the runtime
  // must drop it.
  bool push(std::span<const Effect> effects);
  // Closes the stream because the service ends. The reader can still take waiting effects.
  void stop();

 private:
  // Calls `wake_`, unless cancel() was called.
  void wake();

  mutable Mutex mutex_;
  // Held while `wake_` runs, so that cancel() can wait for it.
  Mutex wake_mutex_;
  // Empty after cancel().
  std::function<void()> wake_;
  // Effects that wait for the reader, in the order of the pushes.
  std::vector<Effect> waiting_ SUBAK_GUARDED_BY(mutex_);
  State state_ SUBAK_GUARDED_BY(mutex_) = State::kOpen;
};

}  // namespace subak

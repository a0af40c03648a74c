// A bounded queue of effects from the loop to one edge (a gRPC stream, a Kubernetes writer).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/effect.h"
#include "threads/mutex.h"

namespace subak {

// The loop pushes, one reader takes. With more than limits::kMaxEffectBacklog waiting effects the
// stream closes. The reader then subscribes again, which starts with the effects outstanding at
// that time, so none is lost. Threads: any may call all members.
class EffectStream {
 public:
  // kOverflowed: the reader was too slow. kStopped: the service ends. kCancelled: the reader has
  // ended its use.
  enum class State : std::uint8_t { kOpen, kOverflowed, kStopped, kCancelled };

  // `wake` is called without a lock held when the queue becomes non-empty and when the stream
  // closes. It must only signal: it runs on the loop's thread.
  explicit EffectStream(std::function<void()> wake);

  // Takes all waiting effects, in order; empty if there are none. Works after a close too.
  std::vector<Effect> take();
  State state() const;
  // Ends the reader's use. `wake` is not called after this returns. Call it before the objects that
  // `wake` uses are destroyed.
  void cancel();

  // For the runtime. False: the stream is closed, also if this call closed it; drop it.
  bool push(std::span<const Effect> effects);
  // The service ends: closes the stream. Waiting effects can still be taken.
  void stop();

 private:
  // Calls `wake_`, unless it was cancelled.
  void wake();

  mutable Mutex mutex_;
  // Held while `wake_` runs, so that cancel() can wait for it.
  Mutex wake_mutex_;
  // Empty after cancel().
  std::function<void()> wake_;
  // In the order of the pushes.
  std::vector<Effect> waiting_ SUBAK_GUARDED_BY(mutex_);
  State state_ SUBAK_GUARDED_BY(mutex_) = State::kOpen;
};

}  // namespace subak

// A bounded queue of effects from the loop (the thread that decides) to one edge. An effect is a
// command to a cluster, such as to open a pod's gate. An edge carries out the effects in its
// cluster. It is an external program at the end of a gRPC stream, or part of this service.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/effect.h"
#include "threads/mutex.h"

namespace subak {

// Runtime::subscribe() makes a stream. The loop pushes effects, and one reader takes them. If
// effects wait already, and a push would raise their number above limits::kMaxEffectBacklog, the
// stream closes instead. The reader then subscribes again. The new stream begins with all effects
// that the cluster still lacks, so no effect is lost. Threads: any thread may call any member.
class EffectStream {
 public:
  // The last three states are final. kOverflowed: the reader was too slow. kStopped: the service
  // ends. kCancelled: the reader called cancel().
  enum class State : std::uint8_t { kOpen, kOverflowed, kStopped, kCancelled };

  // The stream calls `wake` when the queue becomes non-empty, and when the loop closes the stream.
  // The stream holds no lock of the queue during that call. `wake` runs on the loop's thread, so
  // `wake` must do no more than signal another thread.
  explicit EffectStream(std::function<void()> wake);

  // Takes all waiting effects out and returns them, in order. The result is empty if none wait. It
  // also works after the loop has closed the stream.
  std::vector<Effect> take();
  State state() const;
  // Closes the stream on behalf of the reader, and drops the waiting effects. `wake` is not called
  // after this function returns. Call it before the objects that `wake` uses are destroyed.
  void cancel();

  // Adds effects. Only the runtime calls push(). False: the stream is closed, maybe by this call.
  // The runtime must then drop the stream.
  bool push(std::span<const Effect> effects);
  // Closes the stream because the service ends. The reader can still take waiting effects.
  void stop();

 private:
  // Calls `wake_`, unless cancel() was called.
  void wake();

  mutable Mutex mutex_;
  // Locked while `wake_` runs, so that cancel() can wait until that call returns.
  Mutex wake_mutex_;
  // Empty after cancel().
  std::function<void()> wake_;
  // Effects that wait for the reader, in the order of the pushes.
  std::vector<Effect> waiting_ SUBAK_GUARDED_BY(mutex_);
  State state_ SUBAK_GUARDED_BY(mutex_) = State::kOpen;
};

}  // namespace subak

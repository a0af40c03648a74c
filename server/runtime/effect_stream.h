// A bounded queue of effects from the loop to one edge (a gRPC stream, a Kubernetes writer).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "engine/effect.h"

namespace subak {

// The loop pushes, one reader takes. More than limits::kMaxEffectBacklog effects waiting: the
// stream is closed and the reader subscribes again, which starts with what is outstanding then;
// nothing is lost. Threads: all members may be called by any thread.
class EffectStream {
 public:
  enum class State : std::uint8_t { kOpen, kOverflowed, kStopped, kCancelled };

  // `wake` is called, without a lock held, when the queue stops being empty and when the stream
  // closes. It must only signal: it runs on the loop's thread.
  explicit EffectStream(std::function<void()> wake);

  // Everything that waits, in order; empty if nothing does. Works after a close too.
  std::vector<Effect> take();
  State state() const;
  // The reader is done. `wake` is not called any more once this has returned. Needed before what
  // `wake` touches is destroyed.
  void cancel();

  // For the runtime. False: the stream is closed (or is now), drop it.
  bool push(std::span<const Effect> effects);
  void stop();  // the service ends

 private:
  void wake();

  mutable std::mutex mutex_;
  std::mutex wake_mutex_;  // held while wake runs, so that cancel() can wait for it
  std::function<void()> wake_;
  std::vector<Effect> waiting_;
  State state_ = State::kOpen;
};

}  // namespace subak

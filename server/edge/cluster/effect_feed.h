// Passes the core's effects on the cluster to the queue of writes. An effect is a command of the
// core (the engine that decides), such as to open the gates of a job. An effect may be lost on its
// way, and the core does not say when an effect is no longer wanted. So while the queue has
// effects, EffectFeed reads once a second which effects the core still wants.
//
// EffectFeed owns the subscription. Threads: the edge's thread. The core's thread wakes the edge's
// thread through the inbox. Once the edge's thread has ended, any thread may call cancel().
#pragma once

#include <cstdint>
#include <memory>

#include "server/edge/cluster/edge_context.h"
#include "server/edge/cluster/edge_session.h"
#include "server/edge/writes/write_queue.h"
#include "server/runtime/effect_stream.h"

namespace subak {

// The feed of one edge. A session subscribes when it begins, and cancels when it ends. Each turn of
// the edge calls take() and, while the session follows, confirm().
class EffectFeed {
 public:
  // `context`, `session` and `queue` outlive this object.
  EffectFeed(EdgeContext& context, EdgeSession& session, WriteQueue& queue)
      : context_(context), session_(session), queue_(queue) {}
  EffectFeed(const EffectFeed&) = delete;
  EffectFeed& operator=(const EffectFeed&) = delete;

  // Subscribes to the effects on the cluster. It ends the session if the service is stopping.
  void subscribe(ClusterId id);
  // Ends the subscription. After cancel() returns, no thread wakes the edge for this subscription.
  // A second call does nothing.
  void cancel();
  // Takes the effects that have arrived. After an overflow it subscribes again.
  void take();
  // Begins a read of all effects that the core still wants, once a second while the queue has
  // effects. The answer later replaces the effects of the queue (WriteQueue::confirm()).
  void confirm();

 private:
  EdgeContext& context_;
  EdgeSession& session_;
  WriteQueue& queue_;
  // nullptr: not subscribed.
  std::shared_ptr<EffectStream> stream_;
  // True: a read that confirm() began has no answer yet.
  bool confirming_ = false;
  // When confirm() may begin the next read, by the monotonic clock.
  std::int64_t confirm_due_ms_ = 0;
};

}  // namespace subak

// Passes the core's effects on the cluster to the queue of writes. An effect may be lost, and the
// core does not say when it no longer wants an effect. So EffectFeed reads all outstanding effects
// again from time to time, until there are none.
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
  // Reads the outstanding effects again. It does so once a second while there are outstanding
  // effects.
  void confirm();

 private:
  EdgeContext& context_;
  EdgeSession& session_;
  WriteQueue& queue_;
  // nullptr: not subscribed.
  std::shared_ptr<EffectStream> stream_;
  // True: a read of the outstanding effects has no answer yet.
  bool confirming_ = false;
  // When the next such read is due, by the monotonic clock.
  std::int64_t confirm_due_ms_ = 0;
};

}  // namespace subak

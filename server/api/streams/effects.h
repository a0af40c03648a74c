// Effects: streams the effects of one cluster from the runtime to a launcher.
#pragma once

#include <memory>
#include <string>

#include "server/api/streams/observe.h"
#include "server/api/streams/streams.h"
#include "server/runtime/runtime.h"
#include "subak/v1/cluster_service.grpc.pb.h"
#include "threads/mutex.h"

namespace subak::api {

// An effect may arrive more than once: a launcher must accept a repetition. Each message has the
// epoch of the leader, so that a launcher can drop messages of an earlier leader. The stream ends
// - with RESOURCE_EXHAUSTED if the launcher reads too slowly (limits::kMaxEffectBacklog);
// - with UNAVAILABLE if the service stops.
// The launcher then connects again and gets all effects that are still valid.
class EffectsWriter final : public QueueWriter<v1::EffectsResponse> {
 public:
  // `store` has the epoch for the messages. `cluster`: the name of the cluster. `launchers` counts
  // the stream under this name from start() to the stream's end.
  // `set`, `launchers` and `store` outlive the stream.
  EffectsWriter(StreamSet& set, Observers& launchers, const Store& store, std::string cluster);
  // Subscribes to the cluster's effects. Call it after begin(). The stream ends with UNAVAILABLE if
  // the runtime does not run.
  // `runtime` outlives the stream.
  void start(Runtime& runtime, ClusterId cluster);

 private:
  // Called when the queue is empty: takes further effects.
  void drained() override { move_some(); }
  // Ends the subscription and the count in `launchers`.
  void ended() override;
  // Called when an effect waits, or when the source is closed. It only queues work for a gRPC
  // thread. Threads: any.
  void wake();
  // Moves effects from the source to the queue if the queue is empty. Ends the stream once the
  // source has ended.
  void move_some();

  Observers& launchers_;
  const Store& store_;
  std::string cluster_;
  Mutex source_mutex_;
  // nullptr: the stream is not subscribed, or no longer.
  std::shared_ptr<EffectStream> source_ SUBAK_GUARDED_BY(source_mutex_);
  // nullptr until there is a source.
  Runtime* runtime_ SUBAK_GUARDED_BY(source_mutex_) = nullptr;
};

}  // namespace subak::api

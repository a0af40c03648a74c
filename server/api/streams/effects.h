// The gRPC call Effects: streams the effects of one cluster from the runtime to a launcher. A
// launcher is an external program that runs jobs of the API. An effect is a command to it, such as
// to start a job's pods.
#pragma once

#include <memory>
#include <string>

#include "server/api/streams/observe.h"
#include "server/api/streams/streams.h"
#include "server/runtime/runtime.h"
#include "subak/v1/cluster_service.grpc.pb.h"
#include "threads/mutex.h"

namespace subak::api {

// An effect may arrive more than once, so a launcher must accept a repeated effect. Each message
// has the epoch of the leader, so that a launcher can drop messages of an earlier leader. The
// stream ends
// - with RESOURCE_EXHAUSTED if the launcher reads too slowly (limits::kMaxEffectBacklog);
// - with UNAVAILABLE if the service stops.
// The launcher then opens a new stream and gets all effects that are still valid.
class EffectsWriter final : public QueueWriter<v1::EffectsResponse> {
 public:
  // `store`: its epoch goes into the messages. `cluster`: the name of the cluster. `launchers`
  // counts the stream under the cluster's name from start() to its end. `set`, `launchers` and
  // `store` must outlive the stream.
  EffectsWriter(StreamSet& set, Observers& launchers, const Store& store, std::string cluster);
  // Subscribes to the cluster's effects. Call it after begin(). The stream ends with UNAVAILABLE if
  // the runtime does not run. `runtime` must outlive the stream.
  void start(Runtime& runtime, ClusterId cluster);

 private:
  // Moves further effects into the queue. It is called when the queue is empty.
  void drained() override { move_some(); }
  // Ends the subscription, and takes the stream out of the count in `launchers`.
  void ended() override;
  // The source calls this when an effect waits, or when the source closes. It only queues work for
  // a gRPC thread. Threads: any.
  void wake();
  // Moves effects from the source to the queue, if the queue is empty. Ends the stream if the
  // source has closed.
  void move_some();

  Observers& launchers_;
  const Store& store_;
  std::string cluster_;
  Mutex source_mutex_;
  // The subscription; nullptr: the stream has not subscribed yet, or it has ended.
  std::shared_ptr<EffectStream> source_ SUBAK_GUARDED_BY(source_mutex_);
  // nullptr until there is a source.
  Runtime* runtime_ SUBAK_GUARDED_BY(source_mutex_) = nullptr;
};

}  // namespace subak::api

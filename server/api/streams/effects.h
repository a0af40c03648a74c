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
// epoch of the leader, so that a launcher can drop those of an earlier leader. The stream ends
// - with RESOURCE_EXHAUSTED if the launcher reads too slowly (limits::kMaxEffectBacklog);
// - with UNAVAILABLE if the service stops.
// The launcher then connects again and gets all effects that still hold.
class EffectsWriter final : public QueueWriter<v1::EffectsResponse> {
 public:
  // `store` has the epoch under which effects are sent. It outlives the stream.
  // `set` and `launchers` outlive it too. `cluster`: its name, under which the stream counts in
  // `launchers` from start() to its end.
  EffectsWriter(StreamSet& set, Observers& launchers, const Store& store, std::string cluster);
  // Call after begin(). The stream ends with UNAVAILABLE if the runtime does not run.
  // Subscribes to the cluster's effects. `runtime` outlives the stream.
  void start(Runtime& runtime, ClusterId cluster);

 private:
  void drained() override { move_some(); }
  void ended() override;
  void wake();       // any thread: an effect waits, or the source closed
  void move_some();  // from the source to the queue if that is empty

  Observers& launchers_;
  const Store& store_;
  std::string cluster_;
  Mutex source_mutex_;
  std::shared_ptr<EffectStream> source_ SUBAK_GUARDED_BY(source_mutex_);
  Runtime* runtime_ SUBAK_GUARDED_BY(source_mutex_) = nullptr;  // set once there is a source
};

}  // namespace subak::api

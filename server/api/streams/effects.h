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

class EffectsWriter final : public QueueWriter<v1::EffectsResponse> {
 public:
  // `store` has the epoch under which effects are sent. It outlives the stream.
  EffectsWriter(StreamSet& set, Observers& launchers, const Store& store, std::string cluster);
  // Call after begin(). The stream ends with UNAVAILABLE if the runtime does not run.
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

#include "server/api/streams/effects.h"

#include <utility>
#include <vector>

#include "core/limits.h"
#include "server/api/common/later.h"
#include "server/api/convert/convert.h"

namespace subak::api {

EffectsWriter::EffectsWriter(StreamSet& set, Observers& launchers, const Store& store,
                             std::string cluster)
    : QueueWriter(set, 2 * limits::kMaxEffectBacklog),
      launchers_(launchers),
      store_(store),
      cluster_(std::move(cluster)) {}

void EffectsWriter::start(Runtime& runtime, ClusterId cluster) {
  const std::weak_ptr<QueueWriter> weak = weak_from_this();
  auto source = runtime.subscribe(cluster, [weak] {
    if (const auto self = weak.lock()) static_cast<EffectsWriter&>(*self).wake();
  });
  if (source == nullptr) return close(shutting_down());
  {
    const MutexLock lock(source_mutex_);
    source_ = std::move(source);
    runtime_ = &runtime;
    launchers_.begin(cluster_);
  }
  move_some();
}

// The loop's thread only signals. A gRPC thread turns effects into messages.
void EffectsWriter::wake() {
  const auto self = std::static_pointer_cast<EffectsWriter>(shared_from_this());
  run_later(std::chrono::milliseconds(0), [self] { self->move_some(); });
}

void EffectsWriter::move_some() {
  const MutexLock lock(source_mutex_);
  if (source_ == nullptr || !idle()) return;
  const std::vector<Effect> effects = source_->take();
  for (const Effect& effect : effects) {
    v1::EffectsResponse message;
    put(effect, cluster_, runtime_->now_ms(), message.mutable_effect());
    message.mutable_effect()->set_epoch(store_.lead().epoch);
    push(std::move(message));
  }
  if (!effects.empty()) return;  // why the source closed is reported after these
  const EffectStream::State state = source_->state();
  if (state == EffectStream::State::kOverflowed) close(to_status(busy("the stream's backlog")));
  if (state == EffectStream::State::kStopped) close(shutting_down());
}

void EffectsWriter::ended() {
  std::shared_ptr<EffectStream> source;
  {
    const MutexLock lock(source_mutex_);
    source = std::move(source_);
  }
  if (source == nullptr) return;
  launchers_.end(cluster_);
  source->cancel();
}

}  // namespace subak::api

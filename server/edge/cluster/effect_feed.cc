#include "server/edge/cluster/effect_feed.h"

#include <utility>
#include <vector>

#include "server/edge/writes/plan.h"

namespace subak {

void EffectFeed::subscribe(ClusterId id) {
  stream_ = context_.ports.subscribe(id, [inbox = context_.inbox] { inbox->wake(); });
  if (stream_ == nullptr) session_.end("the service is stopping");
}

void EffectFeed::cancel() {
  if (stream_) stream_->cancel();
  stream_.reset();
}

// Until the list is complete, an effect may continue work of an earlier process.
void EffectFeed::take() {
  if (!stream_) return;
  std::vector<JobId> begun;
  for (Effect& effect : stream_->take()) {
    if (effect.session > session_.number()) continue;  // from another session
    if (begins_attempt(queue_.wanted(), effect)) begun.push_back(effect.job);
    queue_.want(std::move(effect), !session_.follows());
  }
  for (const JobId job : begun) {
    for (const std::string& uid : pods_beyond(context_.cache, queue_.wanted(), job)) {
      context_.cache.tell_again(uid, true);
    }
  }
  queue_.took_effects();
  if (stream_->state() == EffectStream::State::kOverflowed) {
    const ClusterView* const cluster = context_.ports.view()->cluster(context_.options.cluster);
    if (cluster != nullptr) subscribe(cluster->id);
  }
}

void EffectFeed::confirm() {
  const std::int64_t now = context_.ports.monotonic_ms();
  if (confirming_ || queue_.wanted().empty() || now < confirm_due_ms_) return;
  const auto answer = [this, to = context_.inbox, asked = queue_.request_all(),
                       of = session_.number(),
                       name = context_.options.cluster](const Engine& engine) {
    const ClusterId id = engine.find_cluster(name);
    std::vector<Effect> all = id ? engine.outstanding(id) : std::vector<Effect>();
    to->put([this, asked, of, all = std::move(all)]() mutable {
      confirming_ = false;
      if (of == session_.number()) queue_.confirm(std::move(all), asked, !session_.follows());
    });
  };
  confirming_ = context_.ports.read(answer);
  confirm_due_ms_ = now + kSecondMs;
}

}  // namespace subak

#include "server/edge/cluster/reports.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "server/log/log.h"

namespace subak {

// A running list of pods, or events that the watch has not sent yet, may contain ends of pods on
// deleted nodes.
std::uint64_t Reports::pods_version() const {
  return session_.follows() ? watches_.pods_version() : Outbox::kAllPodsKnown;
}

void Reports::tell() {
  if (!session_.has_begun()) return;
  while (session_.posts() < limits::kMaxEdgePosts) {
    std::optional<News> news = context_.cache.outbox().next(pods_version());
    if (!news) return;
    News told{{}, news->uid};
    const auto done = [this, told](const Reply& reply) { on_reply(told, reply); };
    if (!session_.post(news->body, done, said_at(*news))) {
      return context_.cache.outbox().put_back(std::move(*news));
    }
  }
}

// Returns the present time of the clock by which the update's times were read. That is the node's
// clock if its lease shows it, else the service's.
TimeMs Reports::said_at(const News& news) const {
  const auto& now_ms = context_.ports.now_ms;
  if (std::holds_alternative<in::PodGone>(news.body) && news.clock.empty()) return now_ms();
  const std::optional<DurationMs> behind_ms = context_.cache.nodes().clocks().behind_ms(news.clock);
  return behind_ms ? std::max<TimeMs>(now_ms() - *behind_ms, 1) : 0;
}

// All events of the pod watch were reported, so all earlier changes are known.
void Reports::say_until() {
  const TimeMs heard_ms = watches_.heard_ms();
  if (heard_ms < said_until_ms_ + limits::kSeenUntilEveryMs) return;
  if (!context_.cache.outbox().is_empty()) return;
  const bool posted = session_.post(in::SeenUntil{context_.options.cluster, heard_ms},
                                    [this](const Reply& r) { on_reply({}, r); });
  if (posted) said_until_ms_ = heard_ms;
}

void Reports::on_reply(const News& news, const Reply& reply) {
  context_.cache.outbox().answered(news.uid);
  queue_.answered(news.uid);
  if (!reply.error) return;
  if (reply.error->field == "session") return session_.end(reply.error->message());
  if (reply.error->code == ErrorCode::kExhausted && reply.error->field == "queue") {
    return put_off_pod(news.uid, reply.error->want);
  }
  ++not_taken_;
  log::warn("the core refused an update from the edge", {{"cluster", context_.options.cluster},
                                                         {"uid", news.uid},
                                                         {"error", reply.error->message()}});
}

// The pod stays behind its gate, and its status shows why.
void Reports::put_off_pod(const std::string& uid, const std::string& words) {
  if (put_off_.empty()) {
    log::warn("pods are put off: too many wait",
              {{"cluster", context_.options.cluster}, {"why", words}});
    put_off_due_ms_ = context_.ports.monotonic_ms() + limits::kPutOffRetryMs;
  }
  put_off_.push_back(uid);
  put_off_again_ = true;
  notices_.tell_put_off(uid, words);
}

// While the core accepts all repeated pods, more are sent at once.
void Reports::tell_put_off() {
  if (put_off_.empty() || context_.ports.monotonic_ms() < put_off_due_ms_) return;
  put_off_at_once_ = put_off_again_ ? limits::kPutOffRetries
                                    : std::min(2 * put_off_at_once_, limits::kMaxEdgePosts / 4);
  put_off_again_ = false;
  for (std::size_t i = 0; i < put_off_at_once_ && !put_off_.empty(); ++i, put_off_.pop_front()) {
    context_.cache.tell_again(put_off_.front());
  }
  put_off_due_ms_ = context_.ports.monotonic_ms() + limits::kPutOffRetryMs;
}

DurationMs Reports::due_in() const {
  constexpr DurationMs kMailboxFullMs = 5;
  DurationMs most = limits::kLoopMaxWaitMs;
  if (!put_off_.empty()) most = wait_until(put_off_due_ms_, context_.ports.monotonic_ms());
  if (context_.cache.outbox().has_next(pods_version())) most = std::min(most, kMailboxFullMs);
  return most;
}

}  // namespace subak

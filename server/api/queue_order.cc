#include "server/api/queue_order.h"

#include <algorithm>

namespace subak::api {
namespace {

constexpr std::size_t kFreshJobs = 10'000;  // up to here the order is always that of the moment
constexpr DurationMs kKeptMs = kSecondMs;
constexpr std::size_t kLeastJobs = 1024;  // made at once

}  // namespace

const QueueOrder::Picture& QueueOrder::first(const Engine& engine, std::size_t least) {
  if (!fits(engine, least)) make(engine, least);
  return picture_;
}

std::size_t QueueOrder::position(const Engine& engine, JobId id) {
  if (!engine.is_queued_below(id, "")) return 0;
  const std::vector<JobId>& ids = first(engine, SIZE_MAX).ids;
  auto at = std::find(ids.begin(), ids.end(), id);
  if (at == ids.end() && seq_ != engine.seq()) {  // it came since
    make(engine, SIZE_MAX);
    at = std::find(ids.begin(), ids.end(), id);
  }
  return at == ids.end() ? 0 : static_cast<std::size_t>(at - ids.begin()) + 1;
}

bool QueueOrder::fits(const Engine& engine, std::size_t least) const {
  if (!made_ || (!picture_.whole && picture_.ids.size() < least)) return false;
  if (clock_.monotonic_ms() - made_ms_ >= kKeptMs) return false;
  return seq_ == engine.seq() || engine.count(JobState::kQueued) > kFreshJobs;
}

// Twice what is needed, so that reading on page by page makes it few times.
void QueueOrder::make(const Engine& engine, std::size_t least) {
  const std::size_t all = engine.count(JobState::kQueued);
  const std::size_t most = least >= all / 2 ? all : std::max(2 * least, kLeastJobs);
  picture_ = {engine.queue_order(most), most >= all};
  made_ = true;
  seq_ = engine.seq();
  made_ms_ = clock_.monotonic_ms();
}

}  // namespace subak::api

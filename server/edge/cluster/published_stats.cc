#include "server/edge/cluster/published_stats.h"

#include <utility>

#include "server/log/log.h"

namespace subak {

void PublishedStats::publish(EdgeStats now, bool session_is_on,
                             const ClusterCache::Unreadable& unreadable) {
  const MutexLock lock(mutex_);
  if (stats_.error != now.error && !now.error.empty() && session_is_on) {
    log::warn("edge", {{"cluster", cluster_}, {"error", now.error}});
  }
  if (said_unreadable_ != unreadable.last) {
    said_unreadable_ = unreadable.last;
    log::warn("an object cannot be read completely",
              {{"cluster", cluster_}, {"error", said_unreadable_}});
  }
  stats_ = std::move(now);
}

EdgeStats PublishedStats::read() const {
  const MutexLock lock(mutex_);
  return stats_;
}

}  // namespace subak

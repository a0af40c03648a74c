// The figures of one edge, the part of the service that follows a cluster, for metrics and the API.
// Threads: the edge's thread calls publish(); any thread may call read().
#pragma once

#include <string>

#include "server/edge/cache/cluster_cache.h"
#include "server/edge/cluster/edge.h"
#include "threads/mutex.h"

namespace subak {

// Stores the last figures, and logs an error when it is new.
class PublishedStats {
 public:
  // `cluster`: the cluster's name, for the log.
  explicit PublishedStats(std::string cluster) : cluster_(std::move(cluster)) {}

  // Replaces the figures. `session_is_on`: if false, now.error is not logged, since the end of the
  // session has logged it. `unreadable`: the objects that could not be read.
  void publish(EdgeStats now, bool session_is_on, const ClusterCache::Unreadable& unreadable)
      SUBAK_EXCLUDES(mutex_);
  // Returns the last figures. Threads: any.
  EdgeStats read() const SUBAK_EXCLUDES(mutex_);

 private:
  const std::string cluster_;
  // The last logged message about an object that cannot be read. Only the edge's thread uses this
  // text.
  std::string said_unreadable_;
  mutable Mutex mutex_;
  // All zero before the first publish().
  EdgeStats stats_ SUBAK_GUARDED_BY(mutex_);
};

}  // namespace subak

// The figures of an edge that metrics and the API read. Threads: the edge's publishes; any reads.
#pragma once

#include <string>

#include "server/edge/cache/cluster_cache.h"
#include "server/edge/cluster/edge.h"
#include "threads/mutex.h"

namespace subak {

// Holds the last figures, and logs an error when it is new.
class PublishedStats {
 public:
  // `cluster`: its name, for the log.
  explicit PublishedStats(std::string cluster) : cluster_(std::move(cluster)) {}

  // Replaces the figures. `session_is_on`: false keeps now.error out of the log, since the end of
  // the session has logged it. `unreadable`: the objects that could not be read.
  void publish(EdgeStats now, bool session_is_on, const ClusterCache::Unreadable& unreadable)
      SUBAK_EXCLUDES(mutex_);
  // Returns the last figures. Threads: any.
  EdgeStats read() const SUBAK_EXCLUDES(mutex_);

 private:
  const std::string cluster_;
  // What the log had last about an object that cannot be read. The edge's thread only.
  std::string said_unreadable_;
  mutable Mutex mutex_;
  // All zero before the first publish().
  EdgeStats stats_ SUBAK_GUARDED_BY(mutex_);
};

}  // namespace subak

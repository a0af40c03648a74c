// Watches each kind of owners (objects that create pods) that the API server serves, and writes
// them into the object cache. The next discovery finds kinds that appear later. Threads: one at a
// time; Watches owns this object.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "server/edge/cache/cluster_cache.h"
#include "server/edge/client/reflector.h"
#include "server/edge/kinds/discovery.h"

namespace subak {

// The watches of one cluster's owners.
class OwnerWatches {
 public:
  // Makes and starts a reflector of the objects with this path.
  using Follow = std::function<std::unique_ptr<Reflector>(const std::string& path, ReflectorSink)>;
  // `on_change` is called before an owner goes into the cache. All arguments must outlive the
  // watches.
  OwnerWatches(KubeApi& api, ClusterCache& cache, const Reflector::MonotonicMs& now,
               const std::function<void()>& on_change, Follow follow)
      : cache_(cache), on_change_(on_change), follow_(std::move(follow)), discovery_(api, now) {}
  OwnerWatches(const OwnerWatches&) = delete;
  OwnerWatches& operator=(const OwnerWatches&) = delete;

  // A session of the edge with the core begins: turn() begins to watch the kinds that are known to
  // be served.
  void begin() { follows_ = true; }
  // A session ends: ends all watches. The results of the discovery stay.
  void end();
  // Asks for the kinds if that is due. In a session, begins the watches of served kinds, and ends
  // those of kinds that are gone. The caller calls turn() of the reflectors.
  void turn();
  // Returns the time until the next discovery is due, at most limits::kLoopMaxWaitMs.
  DurationMs due_in() const { return discovery_.due_in(); }
  // True once each kind that is served is listed, or its list has failed. A discovery that fails
  // does not hold up the session.
  bool are_asked() const;
  // Returns the reflectors.
  std::vector<Reflector*> all() const;

 private:
  // One kind that is watched.
  struct Watched {
    std::string path;
    std::unique_ptr<Reflector> reflector;
  };
  std::unique_ptr<Reflector> watch(const std::string& path);
  // Forgets the objects of a kind that the API server no longer serves.
  void forget(const std::string& path);

  ClusterCache& cache_;
  const std::function<void()>& on_change_;
  const Follow follow_;
  KindDiscovery discovery_;
  bool follows_ = false;
  std::map<OwnerKind, Watched> watched_;
};

}  // namespace subak

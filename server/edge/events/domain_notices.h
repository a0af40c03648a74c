// Reports to users the nodes of Subak's ComputeDomains (NVIDIA's objects for multi-node NVLink)
// that do not become ready. Threads: only the edge's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "server/edge/cache/cluster_cache.h"
#include "server/edge/events/event_recorder.h"

namespace subak {

// The notices of one edge. A node is late if it has been not ready for at least five minutes.
class DomainNotices {
 public:
  // Both arguments must outlive this object.
  DomainNotices(const ClusterCache& cache, EventRecorder& recorder)
      : cache_(cache), recorder_(recorder) {}
  DomainNotices(const DomainNotices&) = delete;
  DomainNotices& operator=(const DomainNotices&) = delete;

  // Counts the late nodes, at most every ten seconds. Records one Event for each node that is late
  // for the first time: on the owner of the ComputeDomain, or on the ComputeDomain if it has no
  // owner. `monotonic_ms`: the present time.
  void look(std::int64_t monotonic_ms);
  // The number of late nodes at the last look().
  std::size_t late() const { return late_; }

 private:
  void tell(const ComputeDomain& domain, const std::string& node);

  const ClusterCache& cache_;
  EventRecorder& recorder_;
  // Late nodes with an Event: the uid of the ComputeDomain, and the name of the node.
  std::set<std::pair<std::string, std::string>> told_;
  std::size_t late_ = 0;
  // When the next look is due, by the monotonic clock.
  std::int64_t due_ms_ = 0;
};

}  // namespace subak

// As whom each cluster knows the service. That is no fact, so only the loop's View says it, not the
// engine that reads are answered from. Threads: a pure function.
#pragma once

#include "engine/view.h"
#include "subak/v1/cluster_service.pb.h"

namespace subak::api {

template <class Clusters>
void put_known_as(const View& now, Clusters* clusters) {
  for (v1::Cluster& row : *clusters) {
    const ClusterView* const cluster = now.cluster(row.name());
    if (cluster != nullptr) row.set_known_as(cluster->known_as);
  }
}

}  // namespace subak::api

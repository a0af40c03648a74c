// Completes answers about clusters: adds the user name by which each cluster knows this service. No
// fact has this name. So the engine that answers reads lacks it, and only the View that the loop
// (the thread that decides) publishes has it. Threads: any.
#pragma once

#include "engine/answers/view.h"
#include "subak/v1/cluster_service.pb.h"

namespace subak::api {

// Sets known_as in each of `clusters`, a repeated field of v1::Cluster. `now`: Runtime::view(). A
// cluster that this View lacks stays unchanged.
template <class Clusters>
void put_known_as(const View& now, Clusters* clusters) {
  for (v1::Cluster& row : *clusters) {
    const ClusterView* const cluster = now.cluster(row.name());
    if (cluster != nullptr) row.set_known_as(cluster->known_as);
  }
}

}  // namespace subak::api

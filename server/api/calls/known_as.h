// Sets known_as in each of `clusters`: the user name by which that cluster knows this service. The
// name is not a fact, so only the loop's View has this name. The follower's engine, which answers
// reads, lacks the name. Threads: any; changes only `clusters`.
#pragma once

#include "engine/answers/view.h"
#include "subak/v1/cluster_service.pb.h"

namespace subak::api {

// `Clusters`: the type of a repeated field of v1::Cluster. `now`: the loop's View. A cluster that
// this View lacks stays unchanged.
template <class Clusters>
void put_known_as(const View& now, Clusters* clusters) {
  for (v1::Cluster& row : *clusters) {
    const ClusterView* const cluster = now.cluster(row.name());
    if (cluster != nullptr) row.set_known_as(cluster->known_as);
  }
}

}  // namespace subak::api

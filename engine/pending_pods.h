// Pods that ask for GPUs, have no node yet, and are no job of ours: they wait for the scheduler of
// their cluster, as in namespaces that are only observed. They hold nothing and are decided about
// when they are bound; until then they are known only so that somebody may ask what would become of
// them (docs/design/0035). Threads: any, read-only.
#pragma once

#include "core/shared_map.h"
#include "engine/input_seen.h"

namespace subak {

// Of one cluster.
struct PendingPods {
  SharedMap<PodRecord> by_uid;  // as they were seen last; created_at_ms is set
  bool more = false;            // since its last list some found no room (limits::kMaxPendingPods)
};

}  // namespace subak

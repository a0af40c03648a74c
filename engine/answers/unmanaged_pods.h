// Pods that ask for GPUs, have no node yet and are no Subak jobs. They wait for their cluster's
// scheduler, as in observed namespaces. They hold nothing, and Subak decides on them when they are
// bound. Until then they are only recorded for shadow mode (docs/design/0035). Threads: any,
// read-only.
#pragma once

#include "core/shared_map.h"
#include "model/input_seen.h"

namespace subak {

// The pending pods of one cluster.
struct UnmanagedPodList {
  // The pods as they were seen last, by uid. `created_at_ms` is set.
  SharedMap<PodRecord> by_uid;
  // Some pods since the last list did not fit (limits::kMaxUnmanagedPods).
  bool more = false;
};

}  // namespace subak

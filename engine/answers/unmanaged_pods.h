// Pods that ask for GPUs, have no node yet and are no Subak jobs. They wait for their cluster's
// scheduler, as in observed namespaces. They hold no GPUs. Subak takes no decision on them before
// they are bound, and records them only for shadow mode (docs/design/0035).
// Threads: any, read-only.
#pragma once

#include "core/shared_map.h"
#include "model/input_seen.h"

namespace subak {

// The pending pods of one cluster.
struct UnmanagedPodList {
  // The pods in their last reported form, by uid. Their `created_at_ms` is set.
  SharedMap<PodRecord> by_uid;
  // True: some pods since the last list are missing here (limits::kMaxUnmanagedPods).
  bool more = false;
};

}  // namespace subak

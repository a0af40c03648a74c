// Pods that ask for GPUs, have no node yet and are no Subak jobs. For example, their namespace is
// in mode `observe`. These pods wait for their cluster's scheduler, and hold no GPUs. Subak decides
// nothing about them before they are bound. Only shadow mode, which shows what mode `enforce` would
// do, reads them (docs/design/0035).
// Threads: any, because all data is read-only.
#pragma once

#include "core/shared_map.h"
#include "model/input_seen.h"

namespace subak {

// The pending pods of one cluster.
struct UnmanagedPodList {
  // The pods as they were last reported, by uid. Each record has a `created_at_ms`.
  SharedMap<PodRecord> by_uid;
  // True: since the last list, some pods were left out (limits::kMaxUnmanagedPods).
  bool more = false;
};

}  // namespace subak

// The least cost of a request that no job uses as a shape any more.
// Threads: pure functions.
#pragma once

#include "core/ids.h"
#include "core/quantity.h"
#include "model/request.h"
#include "placement/fleet/fleet.h"

namespace subak {

// The same figure as Fleet::least_milligpu() of a shape with this request. O(size of the request).
MilliGpu least_milligpu(const Fleet& fleet, ClusterId cluster, const GangRequest& request);

}  // namespace subak

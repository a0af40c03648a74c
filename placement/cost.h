// What a request costs that nobody uses as a shape any more.
// Threads: pure functions.
#pragma once

#include "core/ids.h"
#include "core/quantity.h"
#include "placement/fleet.h"
#include "placement/request.h"

namespace subak {

// As Fleet::least_milligpu of such a shape. O(size of the request).
MilliGpu least_milligpu(const Fleet& fleet, ClusterId cluster, const GangRequest& request);

}  // namespace subak

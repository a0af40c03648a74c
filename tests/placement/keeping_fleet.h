// A fleet that never forgets a request, so that tests may keep the numbers (ShapeId).
#pragma once

#include <vector>

#include "placement/fleet/fleet.h"

namespace subak {

struct KeepingFleet : Fleet {
  ShapeId intern(ClusterId cluster, const GangRequest& request) {
    return uses.emplace_back(use(cluster, request)).id();
  }
  std::vector<ShapeUse> uses;
};

}  // namespace subak

// Writes the map of a fleet as columns (proto/subak/v1/fleet_map.proto, docs/design/0130).
// Threads: any; pure functions.
#pragma once

#include <optional>
#include <string>

#include "core/error.h"
#include "engine/answers/fleet_map.h"
#include "engine/engine.h"
#include "subak/v1/fleet_map.pb.h"

namespace subak::api {

// Writes the map. `cluster`: the name of its cluster. O(the map).
void put(const FleetMap& map, const std::string& cluster, v1::FleetMap* out);

// Answers GetFleetMap. The error is kNotFound or kInvalid if there is no such cluster, and
// kExhausted if the map exceeds limits::kMaxPageBytes. Threads: as the engine.
std::optional<Error> put_fleet_map(const Engine& engine, const v1::GetFleetMapRequest& in,
                                   v1::FleetMap* out);

}  // namespace subak::api

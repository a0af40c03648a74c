// A fleet from `kubectl get nodes -o json`, for read_nodes(). Threads: pure function.
#pragma once

#include <string>
#include <vector>

#include "core/error.h"
#include "placement/node.h"

namespace subak::sim {

Result<std::vector<NodeSpec>> read_nodes_json(const std::string& path);

}  // namespace subak::sim

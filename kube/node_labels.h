// Numbers in labels of a node, and how a label or a resource is quoted. A part of kube/node_gpus.h.
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace subak {

// Of digits alone, up to what 63 bits hold; none: it is no such number.
std::optional<std::int64_t> label_number(std::string_view value);

// "nvidia.com/gpu.count=8".
std::string label_text(std::string_view key, std::string_view value);
// "nvidia.com/gpu 8".
std::string resource_text(std::string_view name, std::int64_t count);

}  // namespace subak

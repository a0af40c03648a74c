// Reads numbers in labels of a node, and quotes a label or a resource. A part of
// kube/node/node_gpus.h. Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace subak {

// Reads a number of digits alone that fits 63 bits; nullopt for other text.
std::optional<std::int64_t> label_number(std::string_view value);

// "nvidia.com/gpu.count=8".
std::string label_text(std::string_view key, std::string_view value);
// "nvidia.com/gpu 8".
std::string resource_text(std::string_view name, std::int64_t count);

}  // namespace subak

// Reads numbers in labels of a node, and formats a label or a resource for messages. It is a part
// of kube/node/node_gpus.h.
// Threads: any; pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace subak {

// The most bytes of a label's value in a message. In a cluster, a value has at most 63 bytes.
inline constexpr std::size_t kMostValueBytes = 80;

// Reads a number that has only digits and fits 63 bits. Returns nullopt for other text.
std::optional<std::int64_t> label_number(std::string_view value);

// Returns a text such as "nvidia.com/gpu.count=8".
std::string label_text(std::string_view key, std::string_view value);
// Returns a text such as "nvidia.com/gpu 8".
std::string resource_text(std::string_view name, std::int64_t count);

}  // namespace subak

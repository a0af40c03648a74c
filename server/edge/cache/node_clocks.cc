#include "server/edge/cache/node_clocks.h"

#include <algorithm>
#include <cstdlib>

#include "core/limits.h"

namespace subak {
namespace {

// A watch that continues after a pause brings several renewals at once: they count as one sample.
constexpr DurationMs kOneSampleMs = 2 * kSecondMs;

}  // namespace

DurationMs NodeClocks::Node::behind() const {
  const std::size_t known = std::min(count, kSamples);
  return *std::min_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(known));
}

bool NodeClocks::renewed(const std::string& name, TimeMs renewed_ms, TimeMs now_ms,
                         std::int64_t monotonic_ms) {
  Node& node = nodes_[name];
  const bool is_new = renewed_ms != node.renewed_ms;
  node.renewed_ms = renewed_ms;
  if (listing_ || !is_new) return false;
  const DurationMs sample = now_ms - renewed_ms;
  if (node.count > 0 && monotonic_ms - node.sampled_ms < kOneSampleMs) {
    DurationMs& last = node.samples[(node.count - 1) % kSamples];
    last = std::min(last, sample);
  } else {
    node.samples[node.count % kSamples] = sample;
    ++node.count;
  }
  node.sampled_ms = monotonic_ms;
  if (node.count < kSamples) return false;
  const DurationMs behind = node.behind();
  const DurationMs off = std::abs(behind) < limits::kClockOffMs ? 0 : behind - behind % kSecondMs;
  const bool same =
      (off == 0) == (node.off_ms == 0) && std::abs(off - node.off_ms) <= limits::kClockNoiseMs;
  if (same) return false;
  node.off_ms = off;
  return true;
}

std::optional<DurationMs> NodeClocks::behind_ms(const std::string& name) const {
  const auto found = nodes_.find(name);
  if (found == nodes_.end() || found->second.count == 0) return std::nullopt;
  return found->second.behind();
}

DurationMs NodeClocks::off_ms(const std::string& name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? 0 : found->second.off_ms;
}

DurationMs NodeClocks::largest_ms() const {
  DurationMs largest = 0;
  for (const auto& [name, node] : nodes_) {
    if (node.count > 0 && std::abs(node.behind()) > std::abs(largest)) largest = node.behind();
  }
  return largest;
}

}  // namespace subak

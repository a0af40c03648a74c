// How far the clocks of nodes are behind ours: what a kubelet writes into its Lease (k8s.io/api coordination/v1,
// renewTime, by default every 10 s) against when that comes. Network and API server make it late and never early,
// so the least of the last few is taken. Reads no clock. Threads: none.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/quantity.h"

namespace subak {

class NodeClocks {
 public:
  // A list of leases begins or has ended: what it names was written some time before, and shows nothing.
  void begin_list() { listing_ = true; }
  void end_list() { listing_ = false; }
  // The lease of the node was renewed at `renewed_ms` by its clock, which is known at `now_ms` by ours. True: how far
  // it is told to be off (off_ms()) is another than before.
  bool renewed(const std::string& node, TimeMs renewed_ms, TimeMs now_ms,
               std::int64_t monotonic_ms);
  void forget(const std::string& node) { nodes_.erase(node); }

  // How far the node's clock is behind; ahead: negative. nullopt: it has not renewed its lease since we look.
  std::optional<DurationMs> behind_ms(const std::string& node) const;
  // The same in whole seconds, once kSamples have shown it; 0 where it is less than limits::kClockOffMs. It
  // changes only if the clock moves by more than limits::kClockNoiseMs.
  DurationMs off_ms(const std::string& node) const;
  // Of those that are known: the largest, whatever its sign, as it is.
  DurationMs largest_ms() const;

 private:
  static constexpr std::size_t kSamples = 3;
  struct Node {
    TimeMs renewed_ms = 0;
    std::array<DurationMs, kSamples> samples{};
    std::size_t count = 0;
    std::int64_t sampled_ms = 0;  // the last of them, monotonic
    DurationMs off_ms = 0;
    DurationMs behind() const;
  };
  std::map<std::string, Node> nodes_;
  bool listing_ = false;
};

}  // namespace subak

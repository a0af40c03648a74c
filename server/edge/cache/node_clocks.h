// Measures how far the clocks of nodes are behind the service's. A kubelet writes its time into its
// Lease (k8s.io/api coordination/v1, renewTime, by default every 10 s). The difference to the time
// of arrival is a sample. Network and API server can only delay it, so the least of the last few
// samples is used. Reads no clock. Threads: none.
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
  // Marks a list of leases. Its leases were written some time before, so they are no samples.
  void begin_list() { listing_ = true; }
  // From here on, renewals are samples again.
  void end_list() { listing_ = false; }
  // Takes a renewal: at `renewed_ms` by the node's clock, known at `now_ms` by the service's.
  // Returns true if off_ms() of the node changes.
  // Renewals that arrive within two seconds of each other count as one sample. One that was known
  // before, or is of a list, counts as none.
  bool renewed(const std::string& node, TimeMs renewed_ms, TimeMs now_ms,
               std::int64_t monotonic_ms);
  // Its samples are dropped; a node of that name begins again.
  void forget(const std::string& node) { nodes_.erase(node); }

  // Returns how far the node's clock is behind; ahead: negative. nullopt: it has not renewed its
  // lease since the service watches.
  std::optional<DurationMs> behind_ms(const std::string& node) const;
  // Returns the same in whole seconds, once there are kSamples; 0 if it is less than
  // limits::kClockOffMs. It changes only if the clock moves by more than limits::kClockNoiseMs.
  DurationMs off_ms(const std::string& node) const;
  // Returns the largest known error in either direction, unrounded.
  DurationMs largest_ms() const;

 private:
  // A renewal is due every 10 s, so the samples span about 30 s.
  static constexpr std::size_t kSamples = 3;
  // The last kSamples, as a ring.
  // The samples and the result for one node.
  struct Node {
    // The last renewal, by the node's clock. The same time again is no sample.
    TimeMs renewed_ms = 0;
    // Arrival by the service's clock less renewal by the node's, in ms; the slot of the next is
    // `count` modulo kSamples.
    std::array<DurationMs, kSamples> samples{};
    // Samples so far; it goes on after the ring is full.
    std::size_t count = 0;
    // When the last sample came, monotonic.
    std::int64_t sampled_ms = 0;
    // What NodeClocks::off_ms() returns, in whole seconds.
    DurationMs off_ms = 0;
    // Returns the least of the samples. Only with at least one.
    DurationMs behind() const;
  };
  // By name of the node.
  std::map<std::string, Node> nodes_;
  // Between begin_list() and end_list().
  bool listing_ = false;
};

}  // namespace subak

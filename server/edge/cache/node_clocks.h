// Measures how far the clocks of nodes are behind the service's. A kubelet writes its time into its
// Lease (k8s.io/api coordination/v1, renewTime, by default every 10 s). A sample is the time of
// arrival less that time. Network and API server can only make a sample larger, so the result is
// the least of the last few samples. NodeClocks reads no clock. Threads: none.
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
  // A list of leases begins. Its leases were written some time before, so they are no samples.
  void begin_list() { listing_ = true; }
  // The list has ended: renewals are samples again.
  void end_list() { listing_ = false; }
  // Takes a renewal, made at `renewed_ms` by the node's clock and received at `now_ms` by the
  // service's. Returns true if off_ms() of the node changes.
  // Renewals that arrive within two seconds of each other count as one sample. A renewal that was
  // known before, or that is from a list, is no sample.
  bool renewed(const std::string& node, TimeMs renewed_ms, TimeMs now_ms,
               std::int64_t monotonic_ms);
  // Drops the samples of the node.
  void forget(const std::string& node) { nodes_.erase(node); }

  // Returns how far the node's clock is behind; negative if it is ahead. nullopt: the node has not
  // renewed its lease since the service began to watch.
  std::optional<DurationMs> behind_ms(const std::string& node) const;
  // Returns the same as whole seconds in ms, once there are kSamples samples. 0: there are fewer,
  // or the error is less than limits::kClockOffMs. The result changes only if the error changes by
  // more than limits::kClockNoiseMs.
  DurationMs off_ms(const std::string& node) const;
  // Returns the largest known error in either direction, unrounded.
  DurationMs largest_ms() const;

 private:
  // A renewal is due every 10 s, so the samples span about 30 s.
  static constexpr std::size_t kSamples = 3;
  // The samples and the result for one node.
  struct Node {
    // The last renewal, by the node's clock. The same time again is no sample.
    TimeMs renewed_ms = 0;
    // A ring of the last kSamples samples in ms: arrival by the service's clock less renewal by the
    // node's. The next sample gets the slot `count` modulo kSamples.
    std::array<DurationMs, kSamples> samples{};
    // The number of samples so far, also beyond the size of the ring.
    std::size_t count = 0;
    // When the last sample came, monotonic.
    std::int64_t sampled_ms = 0;
    // The result of NodeClocks::off_ms().
    DurationMs off_ms = 0;
    // Returns the least of the samples. There must be at least one.
    DurationMs behind() const;
  };
  // The nodes with samples, by name.
  std::map<std::string, Node> nodes_;
  // True between begin_list() and end_list().
  bool listing_ = false;
};

}  // namespace subak

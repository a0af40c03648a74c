// Measures how far the clocks of nodes are behind the service's clock. A kubelet renews its Lease
// (k8s.io/api coordination/v1), by default every 10 s, and writes the time of its node into the
// field renewTime. A sample is the time at which the service receives the renewal, minus renewTime.
// Delays in the network and the API server can only make a sample larger. So the result is the
// smallest of the last few samples. NodeClocks itself reads no clock. Threads: one at a time.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/quantity.h"

namespace subak {

// The samples of all nodes of one cluster. NodeCache owns them.
class NodeClocks {
 public:
  // A list of leases begins. Its leases were written some time ago, so they give no samples.
  void begin_list() { listing_ = true; }
  // The list has ended: later renewals give samples again.
  void end_list() { listing_ = false; }
  // Takes a renewal. The node made it at `renewed_ms` by the node's clock, and the service received
  // it at `now_ms` by the service's clock. Returns true if off_ms() of the node changes. A renewal
  // gives no sample if it is from a list, or if its time is the same as that of the last renewal. A
  // renewal that arrives within two seconds of the previous one gives no new sample. If its value
  // is smaller than the last sample, it replaces that sample.
  bool renewed(const std::string& node, TimeMs renewed_ms, TimeMs now_ms,
               std::int64_t monotonic_ms);
  // Drops the samples of the node.
  void forget(const std::string& node) { nodes_.erase(node); }

  // Returns how far the node's clock is behind the service's clock; negative if it is ahead.
  // nullopt: there is no sample yet, because no renewal has come since the service began to watch.
  std::optional<DurationMs> behind_ms(const std::string& node) const;
  // Returns the error that the core gets: as behind_ms(), in ms, but cut to whole seconds. 0: there
  // are fewer than kSamples samples, or the error is less than limits::kClockOffMs. The result
  // changes only if it becomes 0 or stops being 0, or if it changes by more than
  // limits::kClockNoiseMs.
  DurationMs off_ms(const std::string& node) const;
  // Returns behind_ms() of the node whose clock is furthest off, in either direction; 0: there are
  // no samples.
  DurationMs largest_ms() const;

 private:
  // By default a renewal comes every 10 s, so the samples span about 30 s.
  static constexpr std::size_t kSamples = 3;
  // The samples and the result for one node.
  struct Node {
    // The time of the last renewal, by the node's clock.
    TimeMs renewed_ms = 0;
    // A ring of the last kSamples samples, in ms. A sample is the arrival by the service's clock,
    // minus the renewal by the node's clock. The next sample goes into the slot `count` modulo
    // kSamples.
    std::array<DurationMs, kSamples> samples{};
    // The number of samples so far. The number continues to rise beyond the size of the ring.
    std::size_t count = 0;
    // When the last renewal came that was not from a list and had a new time, by the monotonic
    // clock.
    std::int64_t sampled_ms = 0;
    // The result of NodeClocks::off_ms().
    DurationMs off_ms = 0;
    // Returns the smallest of the samples. There must be at least one.
    DurationMs behind() const;
  };
  // The nodes with samples, by name.
  std::map<std::string, Node> nodes_;
  // True between begin_list() and end_list().
  bool listing_ = false;
};

}  // namespace subak

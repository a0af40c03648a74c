// The answer of a Prometheus server to the query for DCGM's metrics. What is read is within its
// ranges, and joins with any holders without an error.
#include <cmath>

#include "core/edge_limits.h"
#include "server/activity/holders.h"
#include "server/activity/samples.h"
#include "tests/fuzz/common/fuzz.h"

namespace {

using namespace subak;

void check(const DeviceSample& d) {
  assert(!d.activity || (*d.activity >= 0 && *d.activity <= 1));
  assert(!d.watts || (std::isfinite(*d.watts) && *d.watts >= 0));
  assert(!d.framebuffer_mib || (std::isfinite(*d.framebuffer_mib) && *d.framebuffer_mib >= 0));
  for (const std::string* text : {&d.node, &d.other_node, &d.gpu, &d.uuid, &d.instance}) {
    assert(text->size() <= limits::kMaxLabelBytes);
  }
}

// Pods on the nodes of the samples, some of which the samples name.
HeldGpus holders(const ActivitySamples& samples) {
  HeldGpus held;
  for (std::size_t i = 0; i < samples.devices.size() && i < 64; ++i) {
    const NodeId node(static_cast<std::uint32_t>(i + 1));
    held.nodes.push_back({node, ClusterId(1), samples.devices[i].node, "east"});
    OpenUsage pod;
    pod.milligpu = 1000;
    pod.gpus = static_cast<std::uint32_t>(i % 3);
    pod.job = JobId(ClusterId(1), i + 1);
    pod.node = node;
    pod.pod = i % 2 == 0 ? samples.devices[i].pod : "";
    held.pods.push_back(pod);
  }
  return held;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto read = read_samples(fuzz::text_of(data, size));
  if (!read.ok()) {
    fuzz::check_error(read.error());
    return 0;
  }
  assert(read->devices.size() <= read->series && read->series <= limits::kMaxActivitySeries);
  for (const DeviceSample& device : read->devices) check(device);
  const HeldGpus held = holders(*read);
  const Joined joined_up = joined(held, *read, last_holders(held));
  assert(joined_up.pods.size() == held.pods.size());
  for (const PodActivity& pod : joined_up.pods) {
    assert(pod.observed() <= pod.devices);
    assert(std::isfinite(pod.watts) && pod.watts >= 0);
  }
  for (const UnheldGpu& gpu : joined_up.unheld) assert(gpu.activity >= 0.01 && gpu.activity <= 1);
  return 0;
}

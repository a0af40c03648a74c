#include <algorithm>
#include <functional>

#include "core/limits.h"
#include "sim/read/workload.h"

namespace subak::sim {
namespace {

// Returns the GPUs per node of the nodes that this job may use, largest first.
std::vector<std::int64_t> eligible_sizes(const TraceJob& job, const std::vector<NodeSpec>& nodes) {
  std::vector<std::int64_t> sizes;
  for (const NodeSpec& node : nodes) {
    const bool allowed = job.products.empty() ||
                         std::binary_search(job.products.begin(), job.products.end(), node.product);
    if (allowed && node.gpus > 0) sizes.push_back(node.gpus);
  }
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  return sizes;
}

// True if empty nodes of these sizes can hold `count` pods of `size` GPUs and one smaller pod of
// `rest`.
bool fits_empty(const std::vector<std::int64_t>& nodes, std::int64_t count, std::int64_t size,
                std::int64_t rest) {
  std::int64_t room = 0;
  bool rest_beside = rest == 0;
  for (const std::int64_t node : nodes) {
    room += node / size;
    if (node % size >= rest) rest_beside = true;
  }
  return room > count || (room == count && rest_beside);
}

// True if empty nodes of these sizes can hold `larger` pods of size + 1 and `equal` pods of `size`.
// The largest pods come first. Each pod gets the node on which it leaves the fewest GPUs free.
bool fits_empty_uneven(std::vector<std::int64_t> nodes, std::int64_t larger, std::int64_t equal,
                       std::int64_t size) {
  for (std::int64_t i = 0; i < larger + equal; ++i) {
    const std::int64_t pod = i < larger ? size + 1 : size;
    auto best = nodes.end();
    for (auto node = nodes.begin(); node != nodes.end(); ++node) {
      if (*node >= pod && (best == nodes.end() || *node < *best)) best = node;
    }
    if (best == nodes.end()) return false;
    *best -= pod;
  }
  return true;
}

GangRequest gang_of(const TraceJob& job, std::int64_t count, std::int64_t size, std::int64_t rest) {
  PodGroup group;
  group.count = static_cast<std::uint32_t>(count);
  group.shape.kind = GpuKind::kWhole;
  group.shape.gpus = size;
  group.shape.products = job.products;
  GangRequest request;
  if (count > 0) request.groups.push_back(group);
  if (rest > 0) {
    group.count = 1;
    group.shape.gpus = rest;
    request.groups.push_back(group);
  }
  return request;
}

PlannedGang fractional(const TraceJob& job, const std::vector<std::int64_t>& sizes) {
  PodGroup group;
  group.shape.kind = GpuKind::kFraction;
  group.shape.milligpu = job.milligpu;
  group.shape.products = job.products;
  PlannedGang plan;
  plan.request.groups.push_back(group);
  plan.placeable = !sizes.empty();
  return plan;
}

// Makes pods of equal size. If a remainder is left, each of the first pods gets one GPU more.
PlannedGang equal_pods(const TraceJob& job, const std::vector<std::int64_t>& sizes,
                       std::int64_t gpus) {
  const std::int64_t size = gpus / job.gang_pods, larger = gpus % job.gang_pods;
  const std::int64_t equal = job.gang_pods - larger;
  PlannedGang plan;
  if (larger > 0) plan.request = gang_of(job, larger, size + 1, 0);
  const GangRequest rest = gang_of(job, equal, size, 0);
  plan.request.groups.insert(plan.request.groups.end(), rest.groups.begin(), rest.groups.end());
  plan.placeable = larger == 0 ? fits_empty(sizes, equal, size, 0)
                               : fits_empty_uneven(sizes, larger, equal, size);
  return plan;
}

}  // namespace

PlannedGang plan_gang(const TraceJob& job, const std::vector<NodeSpec>& nodes) {
  const std::vector<std::int64_t> sizes = eligible_sizes(job, nodes);
  if (job.milligpu < kMilliPerGpu) return fractional(job, sizes);
  const std::int64_t gpus = job.milligpu / kMilliPerGpu;
  if (job.gang_pods > 0) return equal_pods(job, sizes, gpus);
  std::vector<std::int64_t> distinct = sizes;
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  for (const std::int64_t node : distinct) {
    const std::int64_t size = std::min(gpus, node);
    const std::int64_t count = gpus / size, rest = gpus % size;
    if (count + 1 > limits::kMaxPodsPerJob) break;
    if (fits_empty(sizes, count, size, rest)) return {gang_of(job, count, size, rest), true};
  }
  return {gang_of(job, 1, gpus, 0), false};
}

}  // namespace subak::sim

#include "engine/state/jobs/job_request.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/must.h"

namespace subak::state {

const PodShape& shape_of(const Fleet& fleet, const Pod& pod) {
  const GangRequest& request = fleet.request(pod.shape);
  std::uint32_t rank = pod.shape_rank;
  for (const PodGroup& group : request.groups) {
    if (rank < group.count) return group.shape;
    rank -= group.count;
  }
  must(false, "a pod's rank is one of its gang's");
  return request.groups.back().shape;
}

GangRequest request_of(const Fleet& fleet, const Job& job) {
  if (job.shape) return fleet.request(job.shape);
  return job.state == JobState::kDone && job.asked ? *job.asked : gathered_request(fleet, job);
}

void append_pods(std::vector<PodGroup>& groups, std::uint32_t count, const PodShape& shape) {
  if (count == 0) return;
  if (!groups.empty() && groups.back().shape == shape) {
    groups.back().count += count;
  } else {
    groups.push_back({count, shape});
  }
}

GangRequest request_with(const Fleet& fleet, const Job& job, std::uint32_t rank,
                         const PodShape& shape) {
  GangRequest request = request_of(fleet, job);
  std::vector<PodGroup> groups;
  std::uint32_t first = 0;
  for (const PodGroup& g : request.groups) {
    const bool mine = rank >= first && rank - first < g.count;
    append_pods(groups, mine ? rank - first : g.count, g.shape);
    if (mine) append_pods(groups, 1, shape);
    if (mine) append_pods(groups, first + g.count - rank - 1, g.shape);
    first += g.count;
  }
  must(rank < first, "a pod's rank is one of its gang's");
  request.groups = std::move(groups);
  must(request.pods() == first, "a request keeps its number of pods");
  return request;
}

GangRequest gathered_request(const Fleet& fleet, const Job& job) {
  GangRequest request = job.asked ? *job.asked : GangRequest();
  request.groups.clear();
  for (const Pod& pod : std::span(job.pods).first(job.ranks())) {
    if (pod.shape) append_pods(request.groups, 1, shape_of(fleet, pod));
  }
  must(request.pods() <= job.ranks(), "a gang asks for no more pods than it has ranks");
  return request;
}

MilliGpu least_milligpu(const Fleet& fleet, const Job& job) {
  if (job.shape) return fleet.least_milligpu(job.shape);
  const bool ended = job.state == JobState::kDone && job.asked != nullptr;
  if (!job.is_ours() || !ended || job.asked->pods() != job.gang_size) return 0;
  return fleet.costs().of_request(job.id.cluster(), *job.asked);
}

ProductId only_product(const Fleet& fleet, const GangRequest& request) {
  const std::string* only = nullptr;
  for (const PodGroup& group : request.groups) {
    if (group.shape.kind == GpuKind::kNone) continue;
    if (group.shape.products.size() != 1) return ProductId();
    const std::string& product = group.shape.products.front();
    if (only != nullptr && *only != product) return ProductId();
    only = &product;
  }
  return only == nullptr ? ProductId() : fleet.products().find(*only);
}

namespace {

bool has_wish(const Fleet& fleet, const Job& job, bool GangTerms::*wish) {
  if (job.shape) return fleet.request(job.shape).terms.*wish;
  return job.asked != nullptr && job.asked->terms.*wish;
}

}  // namespace

bool uses_compute_domain(const Fleet& fleet, const Job& job) {
  return has_wish(fleet, job, &GangTerms::compute_domain);
}

bool is_not_preemptible(const Fleet& fleet, const Job& job) {
  return has_wish(fleet, job, &GangTerms::not_preemptible);
}

std::vector<NodeId> nodes_of(std::span<const PodSlot> slots) {
  std::vector<NodeId> nodes;
  for (const PodSlot& slot : slots) nodes.push_back(slot.node);
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

std::vector<ProductDemand> amounts_of(const Fleet& fleet, std::span<const PodSlot> slots) {
  std::map<ProductId, MilliGpu> sums;
  for (const PodSlot& slot : slots) {
    must(fleet.node(slot.node) != nullptr, "a placement is on nodes of the fleet");
    if (slot.milligpu > 0) sums[fleet.product_of(slot.node)] += slot.milligpu;
  }
  return {sums.begin(), sums.end()};
}

GangRequest single_pod(const PodShape& shape, bool compute_domain) {
  GangRequest request;
  request.groups.push_back({1, shape});
  request.terms.compute_domain = compute_domain;
  return request;
}

const PodShape& single_pod_of(const Fleet& fleet, ShapeId shape) {
  const GangRequest& request = fleet.request(shape);
  must(request.pods() == 1, "the request is of a single pod");
  return request.groups.front().shape;
}

void complete_gang(const Fleet& fleet, Job& job, ShapeUse shape) {
  must(static_cast<bool>(shape), "a complete gang has a shape");
  must(fleet.request(shape).pods() == job.gang_size, "a shape has a rank for each pod");
  must(job.pods.size() >= job.gang_size, "a complete gang has a pod for each rank");
  job.shape = std::move(shape);
  for (std::uint32_t rank = 0; rank < job.gang_size; ++rank) {
    job.pods[rank].shape = job.shape.share();
    job.pods[rank].shape_rank = rank;
  }
}

void open_gang(const Fleet& fleet, Job& job,
               const std::function<ShapeUse(const PodShape&)>& alone) {
  must(job.from_pods() && job.pods_holding() == 0, "who holds a place keeps its request");
  must(job.pods.size() >= job.gang_size, "a complete gang has a pod for each rank");
  for (std::uint32_t rank = 0; rank < job.gang_size; ++rank) {
    Pod& pod = job.pods[rank];
    const PodShape shape = shape_of(fleet, pod);
    pod.shape = alone(shape);
    pod.shape_rank = 0;
  }
  job.shape = ShapeUse();
}

void expect_pod(Job& job, std::uint32_t rank, ShapeUse shape) {
  must(rank < job.gang_size && static_cast<bool>(shape), "who is expected has a rank and a shape");
  if (job.pods.size() <= rank) job.pods.resize(rank + 1);
  unsettle(job.pods);
  Pod& pod = job.pods[rank];
  must(!pod.is_live(), "no pod is expected at the rank of a live pod");
  pod = Pod{};
  pod.gate = PodGate::kClosed;
  pod.shape = std::move(shape);
  must(pod.is_expected(), "a rank that is marked as expected is so");
}

void set_parking(Job& job, Parking to) {
  must(job.parking() != Parking::kNone && to != Parking::kNone, "a parked job remains so known");
  job.pod_origin->parking = to;
  if (to == Parking::kParked || !job.waits()) return;
  must(!job.shape, "a waiting job whose owner is resumed is incomplete");
  for (Pod& pod : job.pods) {
    if (pod.is_expected()) pod = Pod{};
  }
  while (!job.pods.empty() && !job.pods.back().is_live()) job.pods.pop_back();
}

}  // namespace subak::state

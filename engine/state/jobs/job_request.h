// The requests of jobs and their pods. A shape is a request that the fleet has registered under a
// number. A complete gang has one request: the job has a shape, and each pod is a rank of this
// shape. Before the gang is complete, the job has no shape, and each pod has a shape of its own.
//
// The functions look up requests by shape in the fleet. The functions that change a job change only
// its shape, its list of pods and its parking. No index of Jobs depends on the shapes of pods.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "accounting/amounts.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "engine/state/jobs/job.h"
#include "model/request.h"
#include "placement/fleet/fleet.h"

namespace subak::state {

// Returns the request of one pod, whose shape must be set. The reference is valid as long as the
// shape.
const PodShape& shape_of(const Fleet& fleet, const Pod& pod);
// Returns the request of the job. For an incomplete gang, the request has the pods that have come
// so far.
GangRequest request_of(const Fleet& fleet, const Job& job);
// Returns the request of the job with `shape` at this rank. The job must have the rank (asserted).
GangRequest request_with(const Fleet& fleet, const Job& job, std::uint32_t rank,
                         const PodShape& shape);
// Returns the request of the job's present pods, even if the job's own shape differs.
GangRequest gathered_request(const Fleet& fleet, const Job& job);
// Returns the least that the job can cost, in milli-GPU; 0 while the job's request is not complete.
MilliGpu least_milligpu(const Fleet& fleet, const Job& job);
// Returns the only product that the GPU pods of the request can use. None: the pods can use several
// products, no pod requests GPUs, or the fleet does not know the product.
ProductId only_product(const Fleet& fleet, const GangRequest& request);
// True if the job uses a ComputeDomain.
bool uses_compute_domain(const Fleet& fleet, const Job& job);
// True if Subak may not end the job for another job (GangTerms::not_preemptible).
bool is_not_preemptible(const Fleet& fleet, const Job& job);
// Returns the nodes of the slots, ascending, each once.
std::vector<NodeId> nodes_of(std::span<const PodSlot> slots);
// Returns the GPUs of the slots, ascending by product. Each amount is above 0. The nodes must be in
// the fleet.
std::vector<ProductDemand> amounts_of(const Fleet& fleet, std::span<const PodSlot> slots);
// Appends pods to the groups. Neighbours with the same request are one group.
void append_pods(std::vector<PodGroup>& groups, std::uint32_t count, const PodShape& shape);
// Returns the request of a single pod.
GangRequest single_pod(const PodShape& shape, bool compute_domain = false);
// Returns the only pod of the request with this shape. The request must have a single pod
// (asserted), and the shape must be in use.
const PodShape& single_pod_of(const Fleet& fleet, ShapeId shape);

// Completes a gang: the job gets this shape, and each pod becomes a rank of this shape. Asserts
// that the shape has gang_size pods.
void complete_gang(const Fleet& fleet, Job& job, ShapeUse shape);
// Reverses complete_gang(), so that the job's pods may change. Each pod gets a shape of its own,
// which `alone` returns. Asserts that the job has no holds.
void open_gang(const Fleet& fleet, Job& job, const std::function<ShapeUse(const PodShape&)>& alone);
// Marks a rank without a live pod as an expected pod with this shape: a pod that its owner will
// create later. References to the job's pods become invalid.
void expect_pod(Job& job, std::uint32_t rank, ShapeUse shape);

// Sets whether the owner of the job's pods is parked (suspended by Subak) or resumed. The job's
// parking must not be kNone, neither before the call nor after it (asserted). If the owner of a
// waiting job is resumed, the function removes the expected pods of the job.
void set_parking(Job& job, Parking to);

}  // namespace subak::state

// The requests of jobs and their pods. A waiting gang has a request of its own only while it is
// complete: then its shape is the gang's and each pod is a rank of it. Before that, each pod has a
// shape of its own.
//
// Functions of a fleet, which has the requests by shape. Those that change a job change only its
// shape and its pods' shapes, which no index of Jobs follows. Threads: none.
#pragma once

#include <cstdint>
#include <functional>

#include "core/ids.h"
#include "core/quantity.h"
#include "engine/state/jobs/job.h"
#include "model/request.h"
#include "placement/fleet/fleet.h"

namespace subak::state {

// The request of one pod, whose shape is set. Valid as long as the shape.
const PodShape& shape_of(const Fleet& fleet, const Pod& pod);
// The request of the job. For an incomplete gang: the requests of its pods so far.
GangRequest request_of(const Fleet& fleet, const Job& job);
// The same request with this shape at this rank, which it has (asserted).
GangRequest request_with(const Fleet& fleet, const Job& job, std::uint32_t rank,
                         const PodShape& shape);
// The request of the job's present pods, whatever its shape.
GangRequest gathered_request(const Fleet& fleet, const Job& job);
// The least that the job will cost, in milli-GPU; 0 while its request is not complete.
MilliGpu least_milligpu(const Fleet& fleet, const Job& job);
// The one product that every GPU pod of the request can use. None: several products would do.
ProductId only_product(const Fleet& fleet, const GangRequest& request);
// True if the job uses a ComputeDomain.
bool uses_compute_domain(const Fleet& fleet, const Job& job);
// The request of a single pod.
GangRequest single_pod(const PodShape& shape, bool compute_domain = false);
// The pod of a request of a single pod. The shape is in use.
const PodShape& single_pod_of(const Fleet& fleet, ShapeId shape);

// Completes a gang: it becomes one request, and each pod a rank of it. Asserts that the shape has
// gang_size pods.
void complete_gang(const Fleet& fleet, Job& job, ShapeUse shape);
// Reverses that, so that its pods may change: each gets a shape of its own from `alone`. Asserts
// that the job holds nothing.
void open_gang(const Fleet& fleet, Job& job, const std::function<ShapeUse(const PodShape&)>& alone);
// Marks a rank of the gang without a live pod as expected, with this shape. References to the job's
// pods end.
void expect_pod(Job& job, std::uint32_t rank, ShapeUse shape);

}  // namespace subak::state

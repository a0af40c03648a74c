// Adds ComputeDomains (NVIDIA's objects for multi-node NVLink) to answers. The edge of this service
// that follows the cluster made them. No fact has these records, so the engine that answers reads
// lacks them. Threads: any; pure functions.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/ids.h"
#include "engine/engine.h"
#include "kube/domain/domain_row.h"
#include "subak/v1/cluster_service.pb.h"
#include "subak/v1/job_service.pb.h"

namespace subak::api {

// The ComputeDomains of one cluster; nullptr: no edge of this service follows the cluster.
using ComputeDomainRows = std::shared_ptr<const std::vector<ComputeDomainRow>>;

// Sets the job's ComputeDomain, if `rows` has one for the job.
void put_compute_domain(const ComputeDomainRows& rows, v1::Job* out);
// Returns the rows by each node where their jobs hold GPUs. The pointers are valid as long as
// `rows`.
std::map<NodeId, std::vector<const ComputeDomainRow*>> by_node(const ComputeDomainRows& rows,
                                                               const Engine& engine);
void put(const ComputeDomainRow& row, v1::ComputeDomain* out);

}  // namespace subak::api

// Says whether the ComputeDomain (multi-node NVLink by NVIDIA's driver) of a gang is there, so that
// the gates of the gang's pods may open. If Kubernetes' ResourceClaim controller does not find the
// ResourceClaimTemplate of a pod, it waits for up to 1,000 s. So a gate opens only when the
// template exists. Threads: any; pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "core/ids.h"
#include "server/edge/cache/cluster_cache.h"

namespace subak {

// What to do before the gates of a gang open.
enum class DomainStep : std::uint8_t {
  // The ComputeDomain and its template are there.
  kOpen,
  // There is no ComputeDomain: make it.
  kMake,
  // Another component must act first, as DomainCheck::why says.
  kWait,
};

// The result of check_domain().
struct DomainCheck {
  DomainStep step = DomainStep::kOpen;
  // For kWait: the object, its field and what the edge waits for, as a text for users.
  std::string why;
};

// Checks the ComputeDomain with this key for an attempt of a job. A ComputeDomain of another
// attempt will do too, while a pod uses it whose deletion was not requested. That pod and the new
// pods belong to the same gang, since they name the same template.
DomainCheck check_domain(const ClusterCache& cache, const std::string& key, JobId job,
                         std::uint32_t attempt);

// Returns the owner of the pod's gang: the controller of its controller, if the edge knows it, else
// its own controller. A JobSet owns the Jobs of its gang. Empty: the pod has no controller.
DomainOwner gang_owner_of(const ClusterCache& cache, const GpuPodEntry& pod);

}  // namespace subak

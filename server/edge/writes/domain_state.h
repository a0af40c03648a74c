// Says whether the ComputeDomain of a gang is there, so that the gang's gates may open. The claim
// controller of Kubernetes waits up to 1,000 s after it has not found a claim template. So a gate
// opens only when the template exists.
// Threads: any; pure functions.
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

struct DomainCheck {
  DomainStep step = DomainStep::kOpen;
  // For kWait: the object, its field and what the edge waits for, as a text for users.
  std::string why;
};

// Checks the ComputeDomain with this key for an attempt of a job. A ComputeDomain of another
// attempt is good as long as pods use it that are not being deleted. These pods and the new ones
// then belong to one gang, since they have one template.
DomainCheck check_domain(const ClusterCache& cache, const std::string& key, JobId job,
                         std::uint32_t attempt);

}  // namespace subak

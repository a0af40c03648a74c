// Which waiting jobs would start if the node pools got more nodes, and how many nodes they need
// (docs/design/0124). A node pool is a set of nodes that an autoscaler enlarges or shrinks.
// plan_growth() makes the result next to each forecast. Explanations, metrics and requests to
// autoscalers use it. No decision of the engine depends on it.
// Threads: any; plain values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"

namespace subak {

struct Growth {
  // A pool, and how many nodes it has and should get. `least` and `most` are the bounds on its
  // number of nodes that the policy states.
  struct Pool {
    std::string name;
    ClusterId cluster;
    std::uint32_t least = 0, most = 0;
    // The number of nodes that the pool has now. Of these, `starting` nodes are new and do not take
    // pods yet.
    std::uint32_t present = 0, starting = 0;
    // How many more nodes the pool should get. If `wanted` is above 0, `present + wanted` is at
    // most `most`.
    std::uint32_t wanted = 0;
    friend bool operator==(const Pool&, const Pool&) = default;
  };
  // Nodes of one pool.
  struct Part {
    // The index in `pools`.
    std::size_t pool = 0;
    std::uint32_t nodes = 0;
    friend bool operator==(const Part&, const Part&) = default;
  };
  // A job that would start on nodes that are starting or do not exist yet. Several jobs may share
  // such a node.
  struct Job {
    JobId job;
    // The number of these nodes, by pool. At least one part.
    std::vector<Part> parts;
    friend bool operator==(const Job&, const Job&) = default;
  };

  // The last fact that the result includes, and the time of the result.
  std::uint64_t seq = 0;
  TimeMs time_ms = 0;
  // The pools, in the order of the policy.
  std::vector<Pool> pools;
  // The jobs that wait for such nodes, by id.
  std::vector<Job> jobs;

  // Returns the entry of a job; nullptr if the job does not wait for nodes. O(log n).
  const Job* find(JobId id) const {
    const auto at = std::lower_bound(jobs.begin(), jobs.end(), id,
                                     [](const Job& a, JobId of) { return a.job < of; });
    return at == jobs.end() || at->job != id ? nullptr : &*at;
  }
};

}  // namespace subak

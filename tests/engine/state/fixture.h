// A small fleet with its jobs and accounts, without an engine, for tests of engine/state.
#pragma once

#include <cstdint>
#include <string>

#include "engine/state/allocations.h"
#include "engine/state/jobs/jobs.h"

namespace subak::state {

// One cluster with two nodes of 8 GPUs; accounts "ml" and "bio".
struct Small {
  const ClusterId cluster{1};
  const NodeId n1{1}, n2{2};
  const AccountId ml{2}, bio{3};
  Fleet fleet;
  AccountTree tree;
  Jobs jobs{fleet, tree};
  Allocations allocations{fleet, tree};

  Small() {
    fleet.set_node(n1, cluster, node("n1"), false, 0);
    fleet.set_node(n2, cluster, node("n2"), false, 0);
    tree.set(kRootAccount, AccountSpec(), 0, 0, {}, {});
    tree.set(ml, account("ml"), 1, 0, {}, {});
    tree.set(bio, account("bio"), 1, 0, {}, {});
  }

  static NodeSpec node(const std::string& name) {
    NodeSpec spec;
    spec.name = name;
    spec.product = "H100";
    spec.gpus = 8;
    spec.ready = true;
    return spec;
  }
  static AccountSpec account(const std::string& path) {
    AccountSpec spec;
    spec.path = path;
    return spec;
  }
  static GangRequest gpus(std::int64_t each, std::uint32_t pods) {
    GangRequest request;
    PodShape shape;
    shape.kind = GpuKind::kWhole;
    shape.gpus = each;
    request.groups.push_back({pods, shape});
    return request;
  }

  // Makes a queued API job of the account "ml".
  Job& submit(std::uint64_t number, const GangRequest& request, TimeMs now = 0) {
    fact::JobCreated f;
    f.id = JobId(cluster, number);
    f.leaf = ml;
    f.request = request;
    f.gang_size = request.pods();
    Job& job = jobs.create(f, fleet.use(cluster, request), now);
    jobs.set_state(job, JobState::kQueued);
    return job;
  }
  // Starts the job: pod i holds GPU i of this node. `until`: the deadline of the holds; 0: none.
  void reserve(Job& job, NodeId on, TimeMs now, TimeMs until = 0) {
    jobs.set_state(job, JobState::kStarting);
    job.make_run();
    job.pods.resize(job.gang_size);
    complete_gang(fleet, job, job.shape.share());
    for (std::uint32_t rank = 0; rank < job.gang_size; ++rank) {
      allocations.take(job, rank, slot(on, rank), now);
    }
    jobs.set_deadline(job, until);
  }
  static PodSlot slot(NodeId on, std::uint32_t gpu) { return {on, std::uint64_t{1} << gpu, 1000}; }
  void check() const {
    tree.check_invariants();
    fleet.check_invariants();
    jobs.check();
    allocations.check(jobs);
  }
};

}  // namespace subak::state

// Claims: GPUs that are promised to a queued job, and the jobs that end for it (docs/design/0084).
//
// Invariants: the claimant is queued. A job is a victim of one claim at most. The fleet has each
// claim on its nodes, and the account tree counts it as held by the claimant's account.
//
// A reference to a claim holds until the next fact. Threads: none; State owns it and lends it fleet
// and tree. Only state/ changes it.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "accounting/tree.h"
#include "core/ids.h"
#include "engine/state/jobs/job.h"
#include "model/fact.h"
#include "placement/fleet/fleet.h"

namespace subak::state {

// One claim. The same as fact::Claimed.
struct Claim {
  using Victim = fact::Claimed::Victim;
  JobId job;
  // By rank, not empty.
  std::vector<PodSlot> slots;
  // Ascending by job. Those that have ended since stay listed.
  std::vector<Victim> victims;
  TimeMs made_ms = 0;
  // The nodes of the slots; ascending.
  std::vector<NodeId> nodes;
  // What it counts in the account tree: the account, and the GPUs by product.
  AccountId leaf;
  std::vector<ProductDemand> amounts;
  fact::Claimed as_fact() const;
};
class Jobs;
// Returns the job while it is in the attempt that it ends for the claim. nullptr: it has ended.
const Job* still_there(const Jobs& jobs, const Claim::Victim& victim);

class Claims {
 public:
  using Sink = std::function<void(fact::Body)>;

  // Fleet and tree must outlive it.
  Claims(Fleet& fleet, AccountTree& tree) : fleet_(fleet), tree_(tree) {}

  // --- reads -------------------------------------------------------------------------------------
  // In the order in which they were made.
  const std::vector<Claim>& all() const { return all_; }
  // nullptr: the job claims nothing.
  const Claim* of(JobId claimant) const;
  // The claim whose victim the job is; nullptr: none. Also of a job that has ended since.
  const Claim* by(JobId victim) const;

  // --- facts -------------------------------------------------------------------------------------
  // Makes the claim of this queued job, whose request is in use. `ended`: victims whose attempt is
  // over already.
  void make(const fact::Claimed& f, const Job& job, std::set<JobId> ended);
  // The attempt of a job is over. If it was a victim, what it held is set aside for the claimant.
  void victim_ended(JobId job);
  // Ends it. Does nothing if the job claims nothing.
  void end(JobId claimant);
  // Passes them on as facts.
  void snapshot(const Sink& sink) const;

  // Asserts that fleet and tree have the claims. O(claims).
  void check() const;

 private:
  // Tells the fleet what is claimed on the node.
  void set_on(NodeId node);

  Fleet& fleet_;
  AccountTree& tree_;
  std::vector<Claim> all_;
  // By claimant: the shape of its request.
  std::map<JobId, ShapeId> shapes_;
  // By victim: the claimant.
  std::map<JobId, JobId> by_victim_;
  // The victims whose attempt is over.
  std::set<JobId> ended_;
};

}  // namespace subak::state

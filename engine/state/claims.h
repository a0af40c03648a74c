// The claims of a state. A claim sets GPUs aside for a queued job, the claimant. Its victims are
// the jobs that Subak asks to end, because they hold these GPUs (docs/design/0084).
//
// Invariants: the claimant is queued. A job is a victim of one claim at most. The fleet records
// each claim on the claim's nodes. The account tree counts each claim as held by the claimant's
// account.
//
// A reference to a claim is valid until the next fact.
// Threads: one at a time. State owns the claims, and lends them the fleet and the tree. Only code
// in state/ changes claims.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "accounting/tree.h"
#include "core/ids.h"
#include "engine/state/jobs/job.h"
#include "engine/state/log_position.h"
#include "model/fact.h"
#include "placement/fleet/fleet.h"

namespace subak::state {

// One claim. The fields are as in fact::Claimed.
struct Claim {
  using Victim = fact::Claimed::Victim;
  JobId job;
  // The slots that the job will take, by rank; at least one.
  std::vector<PodSlot> slots;
  // The victims, ascending by job. Victims that have already ended stay in the list.
  std::vector<Victim> victims;
  TimeMs made_ms = 0;
  ClaimRight right = ClaimRight::kReclaim;
  // The nodes of the slots; ascending.
  std::vector<NodeId> nodes;
  // The account for which the tree counts the claimed GPUs. `amounts`: these GPUs by product.
  AccountId leaf;
  std::vector<ProductDemand> amounts;
  fact::Claimed as_fact() const;
};
class Jobs;
// Returns the victim's job. nullptr: the attempt from which the claim takes its GPUs is
// over.
const Job* still_there(const Jobs& jobs, const Claim::Victim& victim);

class Claims {
 public:
  using Sink = std::function<void(fact::Body)>;

  // The fleet and the tree must outlive the object.
  Claims(Fleet& fleet, AccountTree& tree) : fleet_(fleet), tree_(tree) {}

  // --- reads -------------------------------------------------------------------------------------
  // Returns all claims, in the order in which they were made.
  const std::vector<Claim>& all() const { return all_; }
  // Returns the claim of this job. nullptr: the job claims nothing.
  const Claim* of(JobId claimant) const;
  // Returns the claimants, in the order in which the claims were made.
  std::vector<JobId> claimants() const;
  // Returns the claimants with ClaimRight::kClass.
  const std::set<JobId>& by_class() const { return by_class_; }
  // Returns the claim that names this job as a victim, even if the job has already ended. nullptr:
  // the job is no victim.
  const Claim* by(JobId victim) const;
  // The time of the last outside event. An outside event is an arrival or an end of a job, an edit,
  // or a change of a node. It is not caused by a preemption. 0: there was no event yet.
  TimeMs outside_event_ms() const { return outside_event_ms_; }

  // --- facts -------------------------------------------------------------------------------------
  // Makes the claim `f` of the queued job `job`, which must have no claim and a complete request
  // (Job::shape) (asserted). `ended` has the victims whose attempt is already over, as when a
  // checkpoint is restored.
  void make(const fact::Claimed& f, const Job& job, std::set<JobId> ended);
  // Call it when the attempt of a job is over. If the job is a victim, its GPUs are set aside for
  // the claimant from this call on.
  void victim_ended(JobId job);
  // Ends the claim of this job. Does nothing if the job claims nothing.
  void end(JobId claimant);
  // Records an outside event at the time of the present fact. A fact of a checkpoint is no event.
  void note_outside_event(const LogPosition& log) {
    if (!log.restoring()) outside_event_ms_ = log.fact_ms();
  }
  void restore_outside_event(TimeMs at_ms) { outside_event_ms_ = at_ms; }
  // Passes all claims on as facts.
  void snapshot(const Sink& sink) const;

  // Asserts that fleet and tree have exactly these claims. O(claims).
  void check() const;

 private:
  // Tells the fleet which slots of this node are claimed, and by which jobs.
  void set_on(NodeId node);

  Fleet& fleet_;
  AccountTree& tree_;
  std::vector<Claim> all_;
  struct Claimant {
    // The index in `all_` of the claimant's claim.
    std::size_t index = 0;
    // The shape of the claimant's request.
    ShapeId shape;
  };
  std::map<JobId, Claimant> by_claimant_;
  // For each node with claimed slots, the claimants of these slots, in the order of their claims.
  std::map<NodeId, std::vector<JobId>> on_;
  // For each victim, the claimant.
  std::map<JobId, JobId> by_victim_;
  // The victims whose claimed attempt is over.
  std::set<JobId> ended_;
  std::set<JobId> by_class_;
  TimeMs outside_event_ms_ = 0;
};

}  // namespace subak::state

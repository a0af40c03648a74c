// All jobs and gangs, with every index over them: number, uid of a pod, identity of a gang,
// deadline, state, position in the queue. Allocations changes what a job holds; this class changes
// the rest.
//
// A reference to a job holds until the job is forgotten, limits::kDoneJobsKept ends after its own.
// A reference to a pod holds until pods join the job, or its attempt starts. Threads: none; State
// owns it. Only state/ changes it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "accounting/tree.h"
#include "core/block_set.h"
#include "core/ids.h"
#include "engine/state/jobs/job.h"
#include "engine/state/jobs/job_ids.h"
#include "engine/state/jobs/limit_record.h"
#include "engine/state/jobs/live_copy.h"
#include "engine/state/jobs/waiting.h"
#include "model/fact.h"
#include "model/input.h"
#include "placement/fleet/fleet.h"
#include "queue/ready.h"

namespace subak::state {

class Jobs {
 public:
  using All = std::unordered_map<JobId, Job>;
  using Deadlines = BlockSet<std::pair<TimeMs, JobId>>;
  using Sink = std::function<void(fact::Body)>;

  // Fleet and tree must outlive it.
  Jobs(const Fleet& fleet, const AccountTree& tree);

  // --- reads -------------------------------------------------------------------------------------
  const Job* find(JobId id) const;           // nullptr if unknown or forgotten
  const Job& at(JobId id) const;             // asserts that it is there
  const All& all() const { return by_id_; }  // for look-ups and sums: its order means nothing
  std::vector<JobId> ids() const;            // ascending
  // Ascending, for pages. A removed job stays in for a while: look each one up.
  const std::vector<JobId>& ascending() const { return ids_.ascending(); }
  // Ended and not yet forgotten: oldest first.
  const std::deque<JobId>& done() const { return done_; }
  const BlockSet<JobId>& active() const { return active_; }                // Job::active()
  const BlockSet<JobId>& waiting_again() const { return waiting_again_; }  // Job::waits_again()
  const Deadlines& deadlines() const { return deadlines_; }                // Job::until_ms
  const Deadlines& dues(ClusterId cluster) const;  // Job::due_ms, of one cluster
  std::size_t count(JobState state) const { return counts_[static_cast<std::size_t>(state)]; }
  const ReadyQueue& ready() const { return ready_; }
  const WaitingCount& waiting() const { return waiting_; }  // waiting jobs and their pods
  // The live pod of this uid. Uids are unique within a cluster only.
  std::optional<PodPlace> of_uid(ClusterId cluster, const std::string& uid) const;
  // The pod of this uid, or of this rank of a job of the cluster. nullopt: unknown, or the attempt
  // that it belongs to was revoked.
  std::optional<PodPlace> find(ClusterId cluster, const PodRef& ref) const;
  // The job that a pod of this gang ("namespace/gang", PodRecord::owner) joins. None: it needs a
  // new job.
  JobId of_gang(ClusterId cluster, const std::string& name, const std::string& owner) const;
  // Jobs of one namespace that are made of pods, are not done and have no account, by number.
  std::vector<JobId> unassigned(ClusterId cluster, const std::string& ns) const;

  // A job of the same gang that is as old or older. It has this owner, or some of the owner's
  // indexes (the same uid, "+" and more). nullptr: none.
  const Job* of_owner(ClusterId cluster, const std::string& name, const std::string& owner) const;
  // The jobs with a Job::backoff.
  const std::set<JobId>& refused() const { return refused_; }
  // A job of one pod that waits for its controller (PodRecord::owner) to recreate the pod, which
  // the scheduler refused. It is the oldest with the same request and without another pod. None:
  // there is no match.
  JobId awaiting_pod(ClusterId cluster, const std::string& ns, const std::string& owner,
                     const PodShape& shape) const;
  // Live jobs of one pod each (Job::is_apart) of this gang, by number.
  std::vector<JobId> apart(ClusterId cluster, const std::string& name,
                           const std::string& owner) const;
  // Jobs that wait and are not in the queue: incomplete or paused.
  const std::set<JobId>& parked() const { return parked_; }
  const std::set<JobId>& crowded() const { return crowded_; }  // Job::pods_behind() > 0
  // Job::awaits_resume().
  const std::set<JobId>& awaiting_resume() const { return awaiting_resume_; }
  // True if similar jobs overran their time limits lately (limit_record.h). False while its request
  // is not known.
  bool overran_lately(const Job& job) const;
  const LimitRecord& limit_record() const { return record_; }

  // The request of one pod. Its shape is set.
  const PodShape& shape_of(const Pod& pod) const;
  // The request of the job. For an incomplete gang: the requests of its pods so far.
  GangRequest request_of(const Job& job) const;
  // The same request with this shape at this rank. The job has a shape.
  GangRequest request_with(const Job& job, std::uint32_t rank, const PodShape& shape) const;
  // The least that it will cost; 0 while its request is not complete.
  MilliGpu least_milligpu(const Job& job) const;
  // The one product that every GPU pod of the request can use. None: several products would do.
  ProductId only_product(const GangRequest& request) const;

  // --- changes -----------------------------------------------------------------------------------
  // A node of the fleet changed, so the cost of shapes may have changed.
  void fleet_changed() { ready_.costs_changed(); }
  // For Allocations: the job, to change the slots of its pods and their times. Asserts that it
  // exists. Every change of an existing job begins with this call, since a copy in progress needs
  // to know.
  Job& writable(JobId id) {
    const Job& job = at(id);
    if (copy_) copy_->before_change(job);
    return const_cast<Job&>(job);
  }
  // Creates a job. `shape`: of an API job. It is incomplete until set_state().
  Job& create(const fact::JobCreated& f, ShapeUse shape, TimeMs now);
  // Adds a waiting pod at a free rank. `shape`: the pod's own.
  void add_pod(const fact::PodAdded& f, ShapeUse shape);
  // Gives the pod the hold that was reserved for it as an expected pod.
  void fill_place(const fact::PodAdded& f);
  // Marks a rank without a pod as expected.
  void expect_pod(Job& job, std::uint32_t rank, ShapeUse shape);
  // Changes the shape of a waiting pod that has a shape of its own.
  void change_pod(const fact::PodChanged& f, ShapeUse shape);
  // Changes the request of a waiting job. It keeps its position in its job class.
  void change_request(Job& job, ShapeUse shape);
  // Moves a waiting pod to a free rank.
  void seat_pod(Job& job, std::uint32_t from, std::uint32_t rank);
  // Reorders waiting pods. Asserts that the ranks that are left equal the ranks that are taken.
  void rank_pods(Job& job, std::span<const fact::PodsRanked::Move> moves);
  // Completes the gang: it becomes one request, and each pod a rank of it.
  void complete_gang(Job& job, ShapeUse shape);
  // Reverses that, so that its pods may change: each gets a shape of its own from `alone`.
  void open_gang(Job& job, const std::function<ShapeUse(const PodShape&)>& alone);
  // Changes the size of a waiting gang without a complete request.
  void resize_gang(Job& job, std::uint32_t size);
  // Frees the job's gang name for another job.
  void forget_gang(const Job& job);
  // Gives an account to a job without one. Allocations::assign handles what it holds.
  void assign(Job& job, AccountId leaf);
  // Sets Job::backoff. nullptr: the refusal is forgotten.
  void set_backoff(Job& job, std::unique_ptr<Backoff> backoff);
  // Sets whether the job may not be queued because its account was draining when it came.
  void await_resume(Job& job, bool awaits);
  // The only function that changes a job's state, together with all indexes of it. Asserts that the
  // table of model/job.h has this step.
  void set_state(Job& job, JobState to);
  void set_deadline(Job& job, TimeMs until_ms);          // 0: none
  void set_end(Job& job, TimeMs end_ms, TimeMs due_ms);  // both 0: it holds nothing
  void end_run(Job& job);                                // drops Job::of_run before the job waits
  void overran(Job& job, std::uint32_t times);           // Job::overruns: more than before
  // Extends the holds of one cluster by this much. O(holds).
  void put_off(ClusterId cluster, DurationMs by);
  // Ends a job whose state is kDone: it is no longer found by uid or gang. The oldest ended jobs
  // are forgotten.
  void end(Job& job, TimeMs now);
  // Ends a pod: its uid is no longer found.
  void end_pod(Job& job, std::uint32_t rank);

  // Collects the parts of a job of a checkpoint. False: more parts of it follow.
  bool gather(const fact::JobSnapshot& f);
  // Restores all but the job's slots from the last part and the gathered ones. `shape`: of a
  // complete request.
  Job& restore(const fact::JobSnapshot& f, ShapeUse shape);
  // The gathered pods of the job in progress, by rank.
  std::span<const fact::JobSnapshot::Pod> gathered() const { return gathered_; }
  void restore_pod(Job& job, std::uint32_t rank, ShapeUse shape);
  // Adds the job, whose slots are taken, to the queue and the indexes.
  void restored(Job& job, const fact::JobSnapshot& f);

  // These pass jobs on as facts. snapshot_live(): the live ones, by number. snapshot_done(): the
  // ended ones, oldest first. snapshot_needed_done(): only the ended ones that the limit record
  // rests on. A job with more pods than a fact may hold becomes several facts.
  void snapshot_live(const Sink& sink) const;
  void snapshot_done(const Sink& sink) const;
  void snapshot_needed_done(const Sink& sink) const;
  // snapshot_live() in slices. begin_copy() fixes the instant. Jobs may change between the slices,
  // and the facts are those of that instant. It drops a copy in progress. O(jobs), 8 bytes each.
  void begin_copy();
  // Copies the next slice: jobs and pods together, `most`. True: it was the last. Requires a copy
  // in progress.
  bool copy_slice(std::size_t most, const Sink& sink);
  // Asserts that every index agrees with the jobs. O(jobs).
  void check() const;

 private:
  fact::JobSnapshot snapshot_of(const Job& job) const;  // without its pods
  fact::JobSnapshot::Pod snapshot_of(const Job& job, std::uint32_t rank) const;
  void snapshot(const Job& job, const Sink& sink) const;
  static ReadyJob ready_job(const Job& job);
  void index_state(const Job& job);
  std::size_t& count_of(JobState state) { return counts_[static_cast<std::size_t>(state)]; }
  GangRequest gathered_request(const Job& job) const;
  static std::unique_ptr<PodOrigin> said_by_pods(const fact::JobCreated& f);
  // True if the job's controller has to create another pod: its only pod is gone, or is to go
  // because the scheduler refused it.
  static bool awaits_pod(const Job& job);
  // True if it holds something beyond its limit and its request is known.
  static bool is_over(const Job& job);
  void forget_done();
  void count_waiting(const Job& job, std::ptrdiff_t sign);
  void note_unassigned(const Job& job);
  void note_crowd(const Job& job);
  void note_apart(const Job& job);
  void forget_unassigned(const Job& job);
  void check_job(const Job& job) const;

  const Fleet& fleet_;
  const AccountTree& tree_;
  All by_id_;
  JobIds ids_;              // of by_id_
  std::deque<JobId> done_;  // oldest first
  BlockSet<JobId> active_, waiting_again_;
  std::set<JobId> parked_, crowded_;
  Deadlines deadlines_;
  std::map<ClusterId, Deadlines> dues_;
  struct GangKey {
    ClusterId cluster;
    std::string name, owner;
    friend auto operator<=>(const GangKey&, const GangKey&) = default;
  };
  static GangKey key_of(const Job& job);

  std::map<GangKey, JobId> gangs_;                     // the job that later members join
  std::map<GangKey, std::set<JobId>> apart_;           // none is empty
  std::map<std::string, std::set<JobId>> unassigned_;  // by namespace; none is empty
  std::set<JobId> awaiting_resume_;
  std::set<JobId> refused_;
  std::set<JobId> awaiting_pods_;  // awaits_pod()
  std::map<ClusterId, std::unordered_map<std::string, PodPlace>> uids_;
  std::array<std::size_t, EnumText<JobState>::names.size()> counts_{};
  LimitRecord record_;
  ReadyQueue ready_;
  WaitingCount waiting_;
  std::vector<fact::JobSnapshot::Pod> gathered_;
  std::unique_ptr<LiveCopy> copy_;  // under way
};

}  // namespace subak::state

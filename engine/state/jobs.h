// All jobs and gangs, each under everything that it is looked up by: number, uid of a pod, identity
// of a gang, deadline, state, place in the queue. What a job holds is Allocations' to change; here
// is what it is.
//
// A reference to a job holds until the job is forgotten, limits::kDoneJobsKept ends after its own;
// one to a pod of it until pods join the job, or its attempt starts. Threads: none; State owns it.
// Only state/ changes it.
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
#include "engine/fact.h"
#include "engine/input.h"
#include "engine/state/job.h"
#include "engine/state/job_ids.h"
#include "engine/state/limit_record.h"
#include "engine/state/live_copy.h"
#include "engine/state/waiting.h"
#include "placement/fleet.h"
#include "queue/ready.h"

namespace subak::state {

class Jobs {
 public:
  using All = std::unordered_map<JobId, Job>;
  using Deadlines = BlockSet<std::pair<TimeMs, JobId>>;
  using Sink = std::function<void(fact::Body)>;

  // Both outlive it.
  Jobs(const Fleet& fleet, const AccountTree& tree);

  // --- reads -------------------------------------------------------------------------------------
  const Job* find(JobId id) const;           // nullptr if unknown or forgotten
  const Job& at(JobId id) const;             // asserts that it is there
  const All& all() const { return by_id_; }  // look-up, and sums: its order means nothing
  std::vector<JobId> ids() const;            // ascending
  // Ascending, for pages. A job that is gone stays in it for a while: look each one up.
  const std::vector<JobId>& ascending() const { return ids_.ascending(); }
  const std::deque<JobId>& done() const { return done_; }  // ended, and not forgotten: oldest first
  const BlockSet<JobId>& active() const { return active_; }                // Job::active()
  const BlockSet<JobId>& waiting_again() const { return waiting_again_; }  // Job::waits_again()
  const Deadlines& deadlines() const { return deadlines_; }                // Job::until_ms
  const Deadlines& dues(ClusterId cluster) const;  // Job::due_ms, of one cluster
  std::size_t count(JobState state) const { return counts_[static_cast<std::size_t>(state)]; }
  const ReadyQueue& ready() const { return ready_; }
  const WaitingCount& waiting() const { return waiting_; }  // of jobs that wait, and their pods
  // The live pod of this uid. Uids are the cluster's own.
  std::optional<PodPlace> of_uid(ClusterId cluster, const std::string& uid) const;
  // By uid, or by rank of a job of the cluster; nothing if it is of an attempt that was taken back
  // meanwhile.
  std::optional<PodPlace> find(ClusterId cluster, const PodRef& ref) const;
  // The job that a pod of this gang ("namespace/gang", PodRecord::owner) joins; none: a new one.
  JobId of_gang(ClusterId cluster, const std::string& name, const std::string& owner) const;
  // Jobs made of pods that are not done and are of no account, by number; of one namespace.
  std::vector<JobId> unassigned(ClusterId cluster, const std::string& ns) const;

  // A job of the same gang that is as old or older: of this owner, or of some of its indexes (the same uid,
  // "+" and more). nullptr: none.
  const Job* of_owner(ClusterId cluster, const std::string& name, const std::string& owner) const;
  // Those with a Job::backoff.
  const std::set<JobId>& refused() const { return refused_; }
  // A job of one pod whose controller (PodRecord::owner) is to make that anew, as the scheduler refused it; the
  // oldest that asks for the same and has no other pod yet. None: there is no such job.
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
  // Jobs like it overran their time limits (limit_record.h). False while it is not known what it asks for.
  bool overran_lately(const Job& job) const;
  const LimitRecord& limit_record() const { return record_; }

  // What one pod asks for. Its shape is set.
  const PodShape& shape_of(const Pod& pod) const;
  // What the job asks for: of a gang that is not complete, what its pods say so far.
  GangRequest request_of(const Job& job) const;
  // The same, where this rank asks for this. The job has a shape.
  GangRequest request_with(const Job& job, std::uint32_t rank, const PodShape& shape) const;
  // The least that it will cost; 0 while its request is not complete.
  MilliGpu least_milligpu(const Job& job) const;
  // The one product that every GPU pod of a request can use; none if several would do.
  ProductId only_product(const GangRequest& request) const;

  // --- changes -----------------------------------------------------------------------------------
  // A node of the fleet changed: shapes may cost something else now.
  void fleet_changed() { ready_.costs_changed(); }
  // For Allocations: what a pod holds, and since when. Asserts that it is there.
  // Every change of a job that is there begins with this call: a copy under way hears of it.
  Job& writable(JobId id) {
    const Job& job = at(id);
    if (copy_) copy_->before_change(job);
    return const_cast<Job&>(job);
  }
  // `shape`: of an API job. It is incomplete until set_state().
  Job& create(const fact::JobCreated& f, ShapeUse shape, TimeMs now);
  // The rank is free, the pod waits. `shape`: its own.
  void add_pod(const fact::PodAdded& f, ShapeUse shape);
  // The place that was kept for the pod is its own.
  void fill_place(const fact::PodAdded& f);
  // Nobody is at the rank, and somebody comes later.
  void expect_pod(Job& job, std::uint32_t rank, ShapeUse shape);
  // The pod, which waits and has a shape of its own, gets another.
  void change_pod(const fact::PodChanged& f, ShapeUse shape);
  // The job, which waits, asks for something else; it keeps its place in the line.
  void change_request(Job& job, ShapeUse shape);
  // A waiting pod moves to a rank that is free.
  void seat_pod(Job& job, std::uint32_t from, std::uint32_t rank);
  // Waiting pods change places. Asserts that each rank that one leaves another takes.
  void rank_pods(Job& job, std::span<const fact::PodsRanked::Move> moves);
  // All pods are there: the gang becomes one request, and each pod a rank of it.
  void complete_gang(Job& job, ShapeUse shape);
  // Its pods may change again: each has a shape of its own, which `alone` gives.
  void open_gang(Job& job, const std::function<ShapeUse(const PodShape&)>& alone);
  // The gang, which waits and has no request, has another size.
  void resize_gang(Job& job, std::uint32_t size);
  // Its name is free for another job.
  void forget_gang(const Job& job);
  // A job of no account gets one. What it holds is Allocations::assign's.
  void assign(Job& job, AccountId leaf);
  // Job::backoff; nullptr: what was said is forgotten.
  void set_backoff(Job& job, std::unique_ptr<Backoff> backoff);
  // Whether it may not be queued, as its account drained when it came.
  void await_resume(Job& job, bool awaits);
  // The one place where a job's state changes, with everything that is indexed by it. Asserts that
  // the table of queue/job.h has the step.
  void set_state(Job& job, JobState to);
  void set_deadline(Job& job, TimeMs until_ms);          // 0: none
  void set_end(Job& job, TimeMs end_ms, TimeMs due_ms);  // both 0: it holds nothing
  void end_run(Job& job);                                // Job::of_run: it is to wait
  void overran(Job& job, std::uint32_t times);           // Job::overruns: more than before
  // The holds of one cluster last this much longer. O(holds).
  void put_off(ClusterId cluster, DurationMs by);
  // Its state is kDone: nobody finds it by uid or gang any more, and the oldest ended are
  // forgotten.
  void end(Job& job, TimeMs now);
  // The pod is gone: its uid means nobody.
  void end_pod(Job& job, std::uint32_t rank);

  // A job of a checkpoint, in parts. False: more parts of it follow.
  bool gather(const fact::JobKept& f);
  // All but its slots, from the last part and what was gathered. `shape`: of a complete request.
  Job& restore(const fact::JobKept& f, ShapeUse shape);
  // The gathered pods of the job that is being restored, by rank.
  std::span<const fact::JobKept::Pod> gathered() const { return gathered_; }
  void restore_pod(Job& job, std::uint32_t rank, ShapeUse shape);
  // Its slots are taken: it enters the queue and the indexes.
  void restored(Job& job, const fact::JobKept& f);

  // Jobs as facts: those that live by number; the ended ones, oldest first; of these the ones alone on which
  // something rests that is known of limits. A job with more pods than a fact may hold becomes several.
  void keep_live(const Sink& sink) const;
  void keep_done(const Sink& sink) const;
  void keep_needed_done(const Sink& sink) const;
  // keep_live() in slices. begin_copy() fixes the instant: jobs may change between the slices, and the facts
  // are those of that instant. A copy that is under way is dropped. O(jobs), 8 bytes each.
  void begin_copy();
  // The next slice: jobs and their pods together, `most`. True: that was the last. A copy is under way.
  bool copy_slice(std::size_t most, const Sink& sink);
  // Asserts that every index agrees with the jobs. O(jobs).
  void check() const;

 private:
  fact::JobKept kept(const Job& job) const;  // without its pods
  fact::JobKept::Pod kept(const Job& job, std::uint32_t rank) const;
  void keep(const Job& job, const Sink& sink) const;
  static ReadyJob ready_job(const Job& job);
  void index_state(const Job& job);
  std::size_t& count_of(JobState state) { return counts_[static_cast<std::size_t>(state)]; }
  GangRequest gathered_request(const Job& job) const;
  static std::unique_ptr<OfPods> said_by_pods(const fact::JobCreated& f);
  // Its only pod is gone, or to go as the scheduler refused it, and its controller is to make another.
  static bool awaits_pod(const Job& job);
  // It holds something beyond its limit, and it is known what it asked for.
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

  std::map<GangKey, JobId> gangs_;                     // whom later members join
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
  std::vector<fact::JobKept::Pod> gathered_;
  std::unique_ptr<LiveCopy> copy_;  // under way
};

}  // namespace subak::state

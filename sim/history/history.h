// A past window of a store as a workload, so that the driver (sim/driver.h) can replay it with a
// change. HistoryReader makes it from the facts of the window. The workload has each job as it was
// submitted, with its real run time, and each other event at its time:
//
//   run time    from the start of the job's last attempt to its end. If the job had not ended at
//               the end of the window: what a forecast predicts at that time, but at least the time
//               for which it has run. If the job was cancelled while it waited, and had never
//               started: its time limit, else limits::kGuessedRunMs.
//   submission  when the job was first queued or paused: a gang, when all its pods were there
//   edits       clusters, accounts, policy, nodes and their drains; pauses and cancellations of
//               waiting jobs; pods that Subak did not place, with the nodes that they were on
//
// Left out: changes of what pods without GPUs use on a node, and backoffs of nodes.
// Threads: one at a time for each object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/error.h"
#include "engine/engine.h"
#include "sim/history/start_state.h"
#include "sim/read/workload.h"
#include "sim/report/stats.h"

namespace subak::sim {

// The workload of a window, and what really happened in it.
struct History {
  // The state at the beginning of the window, and the state after its last fact.
  StartState start, end;
  // The policy in these states.
  Policy start_policy, end_policy;
  // The jobs and edits of the window [from_ms, to_ms). Workload::capacity is the mean of the
  // window.
  Workload workload;
  // What really happened to the jobs of the workload.
  SimResult result;
  std::vector<JobFate> fates;
  // The number of pods that Subak did not place and that came in the window.
  std::size_t other_pods = 0;
};

// Returns the mean of the installed milli-GPU over the window of the workload. `start` has the
// nodes at the beginning of the window, and the edits of the workload have their changes.
MilliGpu mean_capacity(const StartState& start, const Workload& workload);

class HistoryReader {
 public:
  // Begins with the state before the window, which begins at `from_ms`. `before` need not outlive
  // the call. `from_ms` must not be before before.now().
  HistoryReader(const Engine& before, TimeMs from_ms);
  ~HistoryReader();
  HistoryReader(const HistoryReader&) = delete;
  HistoryReader& operator=(const HistoryReader&) = delete;

  // Takes the next fact of the window. kExhausted: the window has more than
  // limits::kMaxHistoryJobs jobs. kPrecondition: the half-life of usage changed in the window.
  std::optional<Error> add(const Fact& fact);
  // Ends the window before `to_ms`, which must be after the last fact. Call it once.
  History finish(TimeMs to_ms);

 private:
  // The record of a job of the workload.
  struct Live {
    TimeMs started_ms = -1;  // the present attempt; -1: it waits
    DurationMs ran_ms = -1;  // the last attempt that has ended; -1: none
    bool ended = false;
  };
  // One step of a job, for the measures.
  struct Step {
    enum class Kind : std::uint8_t { kSubmitted, kStarted, kAgain, kEnded, kCancelled };
    TimeMs at_ms = 0;
    std::uint32_t job = 0;
    Kind kind = Kind::kSubmitted;
  };

  // Adds the jobs that wait or run at the beginning.
  void add_known();
  // Adds a job of witness_ to the workload. Returns its index there.
  std::uint32_t add_job(const JobRow& row, TimeMs submit_ms);
  // Call it when the job is queued or paused. Adds the job if the workload does not have it yet.
  void waits(JobId id, TimeMs t);
  void edit(TimeMs t, in::Body body, std::uint32_t job = kNoJob);
  // Adds one account to the present edit of accounts. `more`: further accounts follow.
  void edit_account(TimeMs t, in::AccountChange change, bool more, bool retroactive);
  void step(TimeMs t, std::uint32_t job, Step::Kind kind) { steps_.push_back({t, job, kind}); }
  std::optional<std::uint32_t> index_of(JobId id) const;
  std::uint32_t team_of(const std::string& account);
  std::uint32_t request_of(const GangRequest& request);
  std::uint32_t cluster_of(const std::string& name);
  // True if the pod is of a job that Subak did not place.
  bool is_other(JobId id) const;

  // Take a fact: before() with the state before it, and after() with the state after it.
  void before(const Fact& fact);
  void after(const Fact& fact);
  void on(const fact::JobCreated& f, TimeMs t);
  void on(const fact::PodAdded& f, TimeMs t);
  void on(const fact::JobMoved& f, TimeMs t);
  void on(const fact::AttemptStarted& f, TimeMs t);
  void on(const fact::AttemptEnded& f, TimeMs t);
  void on(const fact::ClusterSet& f, TimeMs t);
  void on(const fact::NodeSet& f, TimeMs t);
  void on(const fact::AccountSet& f, TimeMs t);
  // Sets the run times of the jobs, at the end.
  void set_run_times(TimeMs to_ms);
  // Measures the steps.
  void measure(History& out) const;

  // An engine that applies the same facts, so that the reader can look up jobs and accounts.
  std::unique_ptr<Engine> witness_;
  History out_;
  std::vector<Live> live_;
  std::vector<Step> steps_;
  std::unordered_map<JobId, std::uint32_t> by_id_;
  std::map<std::string, std::uint32_t> teams_, requests_, clusters_;
  // The clusters that the replay has already.
  std::map<ClusterId, std::string> known_clusters_;
  // The drain of the node of the present fact, before that fact.
  NodeDrain drain_before_;
  // The accounts of the present edit so far.
  in::ApplyAccounts accounts_;
  // When the last attempt began after the last submission; -1: none did.
  TimeMs started_since_ms_ = -1;
  std::optional<Error> error_;
};

}  // namespace subak::sim

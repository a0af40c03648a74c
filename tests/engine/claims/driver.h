// A small world of one cluster, for random tests of claims. A claim sets GPUs aside for a waiting
// job, the claimant. Its victims are the jobs that are asked to end because they hold these GPUs
// (docs/design/0084).
// The driver sends inputs to an engine, plays the launcher of its jobs, and keeps books of its own
// from the facts. The launcher binds each pod at once. A job that is asked to end ends at a random
// time within its grace period.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"

namespace subak::claim_model {

constexpr DurationMs kStep = 10 * kSecondMs;
constexpr int kMostPasses = 50;

// A job that has not ended, as the facts say.
struct Job {
  JobId id;
  AccountId leaf;
  // For each pod, how many whole GPUs it requests.
  std::vector<int> pods;
  // The product that all pods request; empty: any.
  std::string product;
  std::int32_t priority = 0;
  DurationMs grace_ms = 0;
  // True: the job cannot be preempted.
  bool fixed = false;
  JobState state = JobState::kQueued;
  std::uint32_t attempt = 0;
  TimeMs started_ms = 0;
  // The slots of the pods, by rank. A slot without a node holds nothing.
  std::vector<PodSlot> slots;
  // When the launcher ends the job. 0: the job was not asked to end.
  TimeMs until_ms = 0;
  // When the job was last asked to end for a claim. 0: never.
  TimeMs preempted_ms = 0;

  bool in_attempt() const {
    return state == JobState::kStarting || state == JobState::kRunning ||
           state == JobState::kEnding;
  }
  bool has_one_shape() const;
};

// What the facts say of jobs and claims.
struct Books {
  std::map<JobId, Job> jobs;
  std::map<JobId, fact::Claimed> claims;
  // The time of the last outside event: an arrival, an end, an edit or a change of a node that no
  // preemption caused.
  TimeMs event_ms = 0;

  // True if the present attempt of the job is the victim of a claim.
  bool is_victim(const Job& job) const;
  // True if an earlier attempt of the job is the victim of a claim that still waits for other
  // victims. Until that claim ends, no second claim may take the job's GPUs.
  bool was_victim(const Job& job) const;
  // True if the job was preempted since the last outside event. No claim may then take its GPUs.
  bool has_given(const Job& job) const {
    return job.preempted_ms != 0 && job.preempted_ms >= event_ms;
  }

 private:
  bool has_victim(JobId job, std::uint32_t attempt, bool same) const;
};

// The request of a new job.
struct Wanted {
  std::string account;
  std::vector<std::pair<std::int64_t, std::int64_t>> groups;  // pods, and GPUs of each
  std::string product;                                        // empty: any
  std::int32_t priority = 0;
  DurationMs grace_ms = 0;
  bool fixed = false;
};

class Driver {
 public:
  explicit Driver(std::uint64_t seed) : random_(seed) {}
  virtual ~Driver() = default;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  const Engine& engine() const { return engine_; }
  const Books& books() const { return books_; }
  TimeMs now() const { return now_; }
  // Returns a random number from 0 to n - 1.
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  template <class T>
  const T& one_of(const std::vector<T>& some) {
    return some[static_cast<std::size_t>(below(std::ssize(some)))];
  }

  // Sets the policy and makes the cluster "main". Call it first.
  void begin(const Policy& policy);
  // Imports these nodes as all nodes of the cluster.
  void set_nodes(const std::vector<NodeSpec>& nodes);
  // False: the engine refuses the edit.
  bool set_account(const AccountSpec& spec);
  JobId submit(const Wanted& wanted);
  // Cancels a waiting job.
  void cancel(JobId job);
  // Ends all pods of a job in an attempt.
  void end(JobId job, Cause cause);
  void wait(DurationMs time) { now_ += time; }
  // Ends the jobs whose until_ms has come, sends a tick, and runs passes until none is due. False:
  // a pass was still due after kMostPasses passes.
  bool settle();
  // True: some job was asked to end and has not ended, or there is a claim.
  bool is_busy() const;

 protected:
  // Called for each fact, before the books have it.
  virtual void before(const Fact& /*fact*/) {}
  // Called when a job is first asked to end for a claim.
  virtual void preempted(JobId /*job*/) {}
  // Called after each pass.
  virtual void after_pass() {}

 private:
  Reply send(in::Body body);
  void note(const Effect& effect);
  void bind();

  void on(const fact::JobCreated& f);
  void on(const fact::JobMoved& f);
  void on(const fact::AttemptStarted& f);
  void on(const fact::PodBound& f);
  void on(const fact::StopAsked& f);
  void on(const fact::PodGone& f);
  void on(const fact::PlaceLost& f);
  void on(const fact::AttemptEnded& f);
  void on(const fact::Claimed& f);
  void on(const fact::NodeSet& /*f*/) { books_.event_ms = now_; }
  void on(const fact::NodeRemoved& /*f*/) { books_.event_ms = now_; }
  void on(const fact::AccountSet& /*f*/) { books_.event_ms = now_; }
  void on(const fact::PolicySet& /*f*/) { books_.event_ms = now_; }
  template <class Other>
  void on(const Other& /*f*/) {}

  Engine engine_;
  std::mt19937_64 random_;
  TimeMs now_ = 1'767'225'600'000;
  Books books_;
  std::vector<Effect> opened_;
};

// Returns accounts, nodes, jobs and claims as a text for the message of a failed check.
std::string text_of(const Engine& engine, const Books& books);

// Returns the number in an environment variable, or `otherwise` if it is not set.
std::uint64_t setting(const char* name, std::uint64_t otherwise);

}  // namespace subak::claim_model

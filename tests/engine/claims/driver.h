// A small world of one cluster for the random models of claims: it sends inputs to an engine, plays
// the launcher, and keeps books of its own from the facts.
//
// The launcher binds each pod at once. A job that is asked to end ends at a random time within its
// grace.
// Threads: none.
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

// A job, as the facts say.
struct Job {
  JobId id;
  AccountId leaf;
  // Of each pod: how many whole GPUs it wants.
  std::vector<int> pods;
  // Empty: any product.
  std::string product;
  std::int32_t priority = 0;
  DurationMs grace_ms = 0;
  // It cannot be preempted.
  bool fixed = false;
  JobState state = JobState::kQueued;
  std::uint32_t attempt = 0;
  TimeMs started_ms = 0;
  // By rank; a slot without a node holds nothing.
  std::vector<PodSlot> slots;
  // When the launcher ends it. 0: it was not asked.
  TimeMs until_ms = 0;
  // When it was last asked to end for a claim. 0: never.
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

  // True if some claim counts the job as gone.
  bool is_victim(const Job& job) const;
  // True if an earlier attempt of the job was the victim of a claim that still waits for others. The
  // job gives to no second claim meanwhile.
  bool was_victim(const Job& job) const;
  // True if the job was preempted since the last outside event, so that it gives to no claim.
  bool has_given(const Job& job) const {
    return job.preempted_ms != 0 && job.preempted_ms >= event_ms;
  }

 private:
  bool has_victim(JobId job, std::uint32_t attempt, bool same) const;
};

// What a new job asks for.
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
  // At least 0 and below `n`.
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  template <class T>
  const T& one_of(const std::vector<T>& some) {
    return some[static_cast<std::size_t>(below(std::ssize(some)))];
  }

  // The cluster "main" with this policy.
  void begin(const Policy& policy);
  // These are all nodes from now on.
  void set_nodes(const std::vector<NodeSpec>& nodes);
  // False: the engine refuses the edit.
  bool set_account(const AccountSpec& spec);
  JobId submit(const Wanted& wanted);
  // A job that waits leaves the queue.
  void cancel(JobId job);
  // All pods of the job end.
  void end(JobId job, Cause cause);
  void wait(DurationMs time) { now_ += time; }
  // Ends those whose time has come, and makes passes until none is due. False: there is no end of
  // passes.
  bool settle();
  // True: some job was asked to end and has not ended, or some claim waits.
  bool is_busy() const;

 protected:
  // Called for each fact, before the books have it.
  virtual void before(const Fact& /*fact*/) {}
  // The job is asked to give back what it holds.
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

// Accounts, nodes, jobs and claims, for the message of a failure.
std::string text_of(const Engine& engine, const Books& books);

// The number in an environment variable.
std::uint64_t setting(const char* name, std::uint64_t otherwise);

}  // namespace subak::claim_model

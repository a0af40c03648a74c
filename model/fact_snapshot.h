// Facts of checkpoints, and facts about budgets. All facts of a checkpoint together give the same
// state as all facts before the checkpoint. A restart of the service reads the newest checkpoint
// and the facts after it. Outside checkpoints, the engine writes MetersSnapshot, RequestSnapshot,
// BudgetPeriodSet, BudgetReached and CivilEndsSet. BudgetReached is in no checkpoint. Part of
// model/fact.h: include that header instead.
// Threads: any; plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "accounting/budget/calendar.h"
#include "accounting/budget/period.h"
#include "accounting/ledger.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "model/fact_job.h"
#include "model/input.h"

namespace subak {

// The stored form of a GpuTime (core/quantity.h).
struct StoredGpuTime {
  // Whole GPU-seconds, which may be negative in a correction.
  std::int64_t gpu_seconds = 0;
  // The part below one GPU-second, in milli-GPU x ms: GpuTime::rest() of core/quantity.h.
  std::int64_t rest = 0;
  template <class V>
  void fields(V& v) {
    v(1, "gpu_seconds", gpu_seconds);
    v(2, "rest", rest);
  }
  // Converts without loss: of(t).get() == t.
  static StoredGpuTime of(GpuTime t) { return {t.gpu_seconds(), t.rest()}; }
  GpuTime get() const { return GpuTime::from_parts(gpu_seconds, rest); }
  friend bool operator==(const StoredGpuTime&, const StoredGpuTime&) = default;
};

namespace fact {

// The exact state of the meters (decayed sums of GPU time) of one account. Outside checkpoints,
// this fact sets the meters after a change of the half-life (in::HalfLifeRead).
struct MetersSnapshot {
  static constexpr std::string_view kName = "meters_kept";
  // The stored form of DecayedMeter::State (accounting/decay.h), which explains each field.
  struct Meter {
    // The sum `a`, decayed to the reference time that `shift` gives. Both are set only with a
    // finite half-life.
    double a = 0;
    std::int64_t shift = 0;
    // The rate now, and the highest rate so far, in milli-GPU.
    MilliGpu rate = 0;
    MilliGpu peak_rate = 0;
    // The sum without decay up to `since_ms`. Both are set only with an infinite half-life.
    StoredGpuTime whole;
    TimeMs since_ms = 0;
    template <class V>
    void fields(V& v) {
      v(1, "a", a);
      v(2, "shift", shift);
      v(3, "rate", rate);
      v(4, "peak_rate", peak_rate);
      v(5, "whole", whole);
      v(6, "since_ms", since_ms);
    }
    friend bool operator==(const Meter&, const Meter&) = default;
  };
  // The account of these meters. In a checkpoint, each account has one such fact. A removed account
  // has one too, because its meters continue if the account is created again.
  AccountId account;
  // The three meters of AccountMeters. accounting/account.h explains each meter.
  Meter usage, surplus, adjustment;
  // Usage without decay, and the time up to which it is summed.
  StoredGpuTime usage_total;
  TimeMs usage_as_of_ms = 0;
  template <class V>
  void fields(V& v) {
    v(1, "account", account);
    v(2, "usage", usage);
    v(3, "surplus", surplus);
    v(4, "adjustment", adjustment);
    v(5, "usage_total", usage_total);
    v(6, "usage_as_of_ms", usage_as_of_ms);
  }
};

// One sum of the ledger: the sum of all rows with this payer, holder, state and product, or the sum
// of all rows of one node.
struct LedgerSnapshot {
  static constexpr std::string_view kName = "ledger_kept";
  // The account that paid for the rows, and the account of the jobs in the rows. Both are 0 if this
  // is the sum of a node.
  AccountId payer, holder;
  UsageState state = UsageState::kUsed;
  // The GPU product of the rows, as NodeSpec::product names it.
  std::string product;
  // If set: this is the sum of this node, and the fields above have no meaning.
  NodeId node;
  // The exact sum of the amounts of these rows.
  StoredGpuTime amount;
  // How many rows the ledger has ever had. Set in the first of these facts only.
  std::uint64_t rows = 0;
  template <class V>
  void fields(V& v) {
    v(1, "payer", payer);
    v(2, "holder", holder);
    v(3, "state", state);
    v(4, "product", product);
    v(5, "node", node);
    v(6, "amount", amount);
    v(7, "rows", rows);
  }
};

// A request id that the engine remembers, with the reply. A repeated request gets this reply again.
// Outside checkpoints, the engine writes this fact for a request that changed nothing.
struct RequestSnapshot {
  static constexpr std::string_view kName = "request_kept";
  // The request id as the caller sent it. Never empty.
  std::string request_id;
  // The time at which the engine decided the request. The engine forgets the request id
  // limits::kRequestIdLifeMs later.
  TimeMs at_ms = 0;
  // The reply to the request: the job or account that the reply names, and the account's revision.
  JobId job;
  AccountId account;
  std::int64_t revision = 0;
  // The caller. `actor`, `method` and `request_id` together identify the request.
  std::string actor;
  // The method of the request. A caller may use the same request id with another method.
  Method method = Method::kNone;
  // The digest of the request, as in EditStamp.
  std::uint64_t content = 0;
  template <class V>
  void fields(V& v) {
    v(1, "request_id", request_id);
    v(2, "at_ms", at_ms);
    v(3, "job", job);
    v(4, "account", account);
    v(5, "revision", revision);
    v(6, "actor", actor);
    v(7, "method", method);
    v(8, "content", content);
  }
};

// A counter that gives new ids: job ids of one cluster, or node ids.
struct CountersSnapshot {
  static constexpr std::string_view kName = "counters_kept";
  // If `cluster` is set, only `next_job` and the `hold` fields are used. `next_job` is the sequence
  // number of this cluster's next job. The `hold` fields are those of HoldLengths
  // (engine/state/clusters.h).
  // If `cluster` is not set, the other fields are used. `next_node` is the id of the next new node.
  // `outside_event_ms` is the time of the last event from outside, such as an arrival or the end of
  // a job (state::Claims::outside_event_ms()). `account_edit` is the number of the last fact that
  // edited an account (AccountTree::revision()).
  ClusterId cluster;
  std::uint64_t next_job = 0;
  std::uint32_t next_node = 0;
  TimeMs outside_event_ms = 0;
  std::uint64_t account_edit = 0;
  std::uint64_t holds_ended = 0;
  double hold_time = 0, hold_time_squared = 0;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "next_job", next_job);
    v(3, "next_node", next_node);
    v(4, "outside_event_ms", outside_event_ms);
    v(5, "account_edit", account_edit);
    v(6, "holds_ended", holds_ended);
    v(7, "hold_time", hold_time);
    v(8, "hold_time_squared", hold_time_squared);
  }
};

// The present state of a job with its pods. A job that is too large for one fact becomes several
// facts in a row, with the pods in order of rank. Each of these facts except the last has `more`
// set, and contains only the job's id and pods.
struct JobSnapshot {
  static constexpr std::string_view kName = "job_kept";
  // One pod of the job. A field means the same as in PodAdded unless a comment says otherwise.
  struct Pod {
    // Empty for a pod of an API job, and for a pod that is only expected.
    std::string uid;
    std::string name;
    PodState state = PodState::kWaiting;
    bool controlled = false;
    // The GPUs that the pod holds, and the time since which they are not charged yet.
    PodSlot slot;
    TimeMs since_ms = 0;
    // Set only for a Kubernetes pod whose shape is not in the job's request.
    PodShape shape;
    std::string dispute;
    PodGate gate = PodGate::kOpen;
    // The fields `seen_ms` and `behind_ms` are as in PodBound; 0 if the pod is not bound.
    TimeMs seen_ms = 0;
    DurationMs behind_ms = 0;
    std::uint32_t order = 0;  // as in PodAdded
    // True: a SchedulerRefused fact was written for the pod's current hold.
    bool refused = false;
    DurationMs grace_ms = 0;  // as in PodAdded
    template <class V>
    void fields(V& v) {
      v(1, "uid", uid);
      v(2, "name", name);
      v(3, "state", state);
      v(4, "controlled", controlled);
      v(5, "slot", slot);
      v(6, "since_ms", since_ms);
      v(7, "shape", shape);
      v(8, "dispute", dispute);
      v(9, "gate", gate);
      v(10, "seen_ms", seen_ms);
      v(11, "behind_ms", behind_ms);
      v(12, "order", order);
      v(13, "refused", refused);
      v(14, "grace_ms", grace_ms);
    }
    friend bool operator==(const Pod&, const Pod&) = default;
  };
  // The JobCreated fact of the job, but with the present state, leaf and gang size. Its `edit` and
  // `submit_ms` are not set.
  JobCreated job;
  // The job's pods, by rank. An API job has no pods before its first attempt.
  std::vector<Pod> pods;
  TimeMs submit_ms = 0;
  std::uint32_t attempt = 0;
  // The job's deadline: the end of its hold, pause or wait for pods. 0: none.
  TimeMs until_ms = 0;
  // Why the job or its last attempt ended.
  Cause cause = Cause::kNone;
  bool more = false;
  // Why Subak asked the pods to end; kNone: it did not ask.
  Cause stop = Cause::kNone;
  // How many attempts in a row ended because a gate could not be opened (kReleaseRefused).
  std::uint32_t refusals = 0;
  // JobOverran::times of this attempt.
  std::uint32_t overruns = 0;
  // The fields of SchedulerRefused. If `words` is empty, the scheduler refused no pod, or Subak
  // ignores the refusal.
  struct Refusal {
    std::string words;
    std::uint32_t backoffs = 0;
    TimeMs until_ms = 0;
    // The last rejection by a kubelet, as NodeRejection.
    std::string rejected_by{};
    Rejection rejection{};
    // The fields of the last ReadyTimedOut. `unready_words` is empty if there was none.
    std::string unready_words{};
    std::uint32_t unready_times = 0;
    TimeMs unready_until_ms = 0;
    friend bool operator==(const Refusal&, const Refusal&) = default;
  };
  Refusal refusal;
  // The number of preemptions of the job, and the time, claimant and claimant's account of the last
  // one.
  struct Preempted {
    std::uint32_t times = 0;
    TimeMs at_ms = 0;
    JobId claimant;
    AccountId leaf;
    TimeMs started_ms = 0;  // start and GPUs of the preempted attempt
    MilliGpu milligpu = 0;
    ClaimRight right = ClaimRight::kReclaim;
    friend bool operator==(const Preempted&, const Preempted&) = default;
  };
  Preempted preempted;
  // A node on which a pod finished.
  struct FinishedOn {
    NodeId node;
    template <class V>
    void fields(V& v) {
      v(1, "node", node);
    }
    friend bool operator==(const FinishedOn&, const FinishedOn&) = default;
  };
  // The run of the job.
  struct Run {
    // The start of the current or last attempt. 0: the job waits.
    TimeMs started_ms = 0;
    TimeMs ended_ms = 0;
    // The time at which the cluster refused to end one of the job's pods; 0: it did not refuse.
    TimeMs end_refused_ms = 0;
    // For a gang in an attempt: when its first pod finished, and the nodes of the pods that
    // finished soon afterwards. 0: no pod has finished.
    TimeMs finishing_ms = 0;
    std::vector<FinishedOn> finished_on{};
    friend bool operator==(const Run&, const Run&) = default;
  };
  Run run;
  template <class V>
  void fields(V& v) {
    v(1, "job", job);
    v(2, "pods", pods);
    v(3, "submit_ms", submit_ms);
    v(4, "attempt", attempt);
    v(5, "until_ms", until_ms);
    v(6, "cause", cause);
    v(7, "started_ms", run.started_ms);
    v(8, "ended_ms", run.ended_ms);
    v(9, "more", more);
    v(10, "stop", stop);
    v(11, "refusals", refusals);
    v(12, "end_refused_ms", run.end_refused_ms);
    v(13, "overruns", overruns);
    v(14, "refusal_words", refusal.words);
    v(15, "backoffs", refusal.backoffs);
    v(16, "backoff_until_ms", refusal.until_ms);
    v(17, "preemptions", preempted.times);
    v(18, "preempted_ms", preempted.at_ms);
    v(19, "preempted_for", preempted.claimant);
    v(20, "preempted_for_leaf", preempted.leaf);
    v(21, "preempted_started_ms", preempted.started_ms);
    v(22, "preempted_milligpu", preempted.milligpu);
    v(23, "preempted_right", preempted.right);
    v(24, "rejected_by", refusal.rejected_by);
    v(25, "rejection", refusal.rejection);
    v(26, "unready_words", refusal.unready_words);
    v(27, "unready_times", refusal.unready_times);
    v(28, "unready_until_ms", refusal.unready_until_ms);
    v(29, "finishing_ms", run.finishing_ms);
    v(30, "finished_on", run.finished_on);
  }
};

// Sets the present period, from `from_ms` to `to_ms`, of all budgets with this kind and length of
// period. Up to `until_ms`, jobs without a time limit hold GPU time of these budgets. In a
// checkpoint, each budget has its own fact, once before the facts of jobs and once after them.
struct BudgetPeriodSet {
  static constexpr std::string_view kName = "budget_period";
  PeriodKind kind = PeriodKind::kFixed;
  // The length of a period of the kind kFixed, else 0.
  DurationMs fixed_ms = 0;
  TimeMs from_ms = 0;
  TimeMs to_ms = 0;
  // The end of the present period, or of the next one if the present one is almost over.
  TimeMs until_ms = 0;
  // These fields are set in checkpoints only: the account, the index of the budget in the account's
  // list, and BudgetBook::State::base.
  AccountId account;
  std::uint32_t index = 0;
  StoredGpuTime base;
  // In checkpoints only: when the account got the budget. 0: not known.
  TimeMs since_ms = 0;
  // In checkpoints only: BudgetBook::State::reached.
  std::uint32_t reached = 0;
  template <class V>
  void fields(V& v) {
    v(1, "kind", kind);
    v(2, "fixed_ms", fixed_ms);
    v(3, "from_ms", from_ms);
    v(4, "to_ms", to_ms);
    v(5, "until_ms", until_ms);
    v(6, "account", account);
    v(7, "index", index);
    v(8, "base", base);
    v(9, "since_ms", since_ms);
    v(10, "reached", reached);
  }
};

// An account has spent a part of a budget in its present period: 80 or 100 percent. The engine
// writes the fact once for each part and period, and again after an edit of the granted GPU time.
struct BudgetReached {
  static constexpr std::string_view kName = "budget_reached";
  AccountId account;
  // The index of the budget in the account's list.
  std::uint32_t index = 0;
  std::uint32_t percent = 0;
  // The account's path and the text of the budget, for people.
  std::string path, budget;
  template <class V>
  void fields(V& v) {
    v(1, "account", account);
    v(2, "index", index);
    v(3, "percent", percent);
    v(4, "path", path);
    v(5, "budget", budget);
  }
};

// Sets the civil periods of the policy's budget zone for all later periods of budgets. The present
// period of a budget ends as before. An empty zone means UTC.
struct CivilEndsSet {
  static constexpr std::string_view kName = "civil_ends";
  CivilEnds ends;
  template <class V>
  void fields(V& v) {
    v(1, "ends", ends);
  }
};

}  // namespace fact

}  // namespace subak

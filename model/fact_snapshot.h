// Facts of checkpoints only: sums and counters that a replay from the first fact would give. Part
// of model/fact.h: include that header instead.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "accounting/ledger.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "model/fact_job.h"
#include "model/input.h"

namespace subak {

// The stored form of a GpuTime.
struct StoredGpuTime {
  std::int64_t gpu_seconds = 0;
  std::int64_t rest = 0;
  template <class V>
  void fields(V& v) {
    v(1, "gpu_seconds", gpu_seconds);
    v(2, "rest", rest);
  }
  static StoredGpuTime of(GpuTime t) { return {t.gpu_seconds(), t.rest()}; }
  GpuTime get() const { return GpuTime::from_parts(gpu_seconds, rest); }
  friend bool operator==(const StoredGpuTime&, const StoredGpuTime&) = default;
};

namespace fact {

// The meters of one account. A Meter is the stored form of DecayedMeter::State
// (accounting/decay.h).
struct MetersSnapshot {
  static constexpr std::string_view kName = "meters_kept";
  struct Meter {
    double a = 0;
    std::int64_t shift = 0;
    MilliGpu rate = 0;
    MilliGpu peak_rate = 0;
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
  AccountId account;
  Meter usage, surplus, adjustment;
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

// One sum of the ledger.
struct LedgerSnapshot {
  static constexpr std::string_view kName = "ledger_kept";
  AccountId payer, holder;
  UsageState state = UsageState::kUsed;
  std::string product;
  NodeId node;  // set: the sum of one node; else of one (payer, holder, state, product)
  StoredGpuTime amount;
  std::uint64_t rows = 0;  // set in the first of these facts only
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

// A remembered request id with its reply.
struct RequestSnapshot {  // also of a request that changed nothing
  static constexpr std::string_view kName = "request_kept";
  std::string request_id;
  TimeMs at_ms = 0;
  JobId job;
  AccountId account;
  std::int64_t revision = 0;
  std::string actor;
  Method method = Method::kNone;
  std::uint64_t content = 0;  // as in EditStamp
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

// The counters from which ids are made.
struct CountersSnapshot {
  static constexpr std::string_view kName = "counters_kept";
  ClusterId cluster;  // set: that cluster's job sequence
  std::uint64_t next_job = 0;
  std::uint32_t next_node = 0;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "next_job", next_job);
    v(3, "next_node", next_node);
  }
};

// The present state of a job with its pods. Only in checkpoints.
// A job that is too large for one fact becomes several in a row, with the pods in order of rank.
// All but the last have `more` set and carry only pods.
struct JobSnapshot {
  static constexpr std::string_view kName = "job_kept";
  struct Pod {
    std::string uid;
    std::string name;
    PodState state = PodState::kWaiting;
    bool controlled = false;
    PodSlot slot;
    TimeMs since_ms = 0;
    PodShape shape;  // pods of Kubernetes only; an API job's shapes are in its request
    std::string dispute;
    PodGate gate = PodGate::kOpen;
    TimeMs seen_ms = 0;        // as in PodBound; 0: it was never bound
    DurationMs behind_ms = 0;  // as in PodBound
    std::uint32_t order = 0;   // as in PodAdded
    bool refused = false;      // SchedulerRefused was written for its current hold
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
    }
    friend bool operator==(const Pod&, const Pod&) = default;
  };
  JobCreated job;
  std::vector<Pod> pods;  // empty if an API job never started an attempt
  TimeMs submit_ms = 0;
  std::uint32_t attempt = 0;
  TimeMs until_ms = 0;
  Cause cause = Cause::kNone;
  TimeMs started_ms = 0;
  TimeMs ended_ms = 0;
  bool more = false;
  Cause stop = Cause::kNone;
  std::uint32_t refusals = 0;
  TimeMs end_refused_ms = 0;
  std::uint32_t overruns = 0;  // JobOverran::times
  // From SchedulerRefused. No words: there was no refusal, or it is forgotten.
  std::string refusal_words;
  std::uint32_t backoffs = 0;
  TimeMs backoff_until_ms = 0;
  template <class V>
  void fields(V& v) {
    v(1, "job", job);
    v(2, "pods", pods);
    v(3, "submit_ms", submit_ms);
    v(4, "attempt", attempt);
    v(5, "until_ms", until_ms);
    v(6, "cause", cause);
    v(7, "started_ms", started_ms);
    v(8, "ended_ms", ended_ms);
    v(9, "more", more);
    v(10, "stop", stop);
    v(11, "refusals", refusals);
    v(12, "end_refused_ms", end_refused_ms);
    v(13, "overruns", overruns);
    v(14, "refusal_words", refusal_words);
    v(15, "backoffs", backoffs);
    v(16, "backoff_until_ms", backoff_until_ms);
  }
};

}  // namespace fact

}  // namespace subak

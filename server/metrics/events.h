// Counters and histograms of past events, such as placements and admission decisions, which the
// engine's state does not have. The counters begin at the start of the process. They are
// instruments of prometheus-cpp, in a separate registry. The runtime, the webhook and others report
// events, and /metrics reads the values. Threads: any may call every function, unless its comment
// says otherwise. No function blocks for long.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "model/fact.h"
#include "server/runtime/runtime.h"
#include "threads/mutex.h"

namespace subak::metrics {

// The priority classes of the metric job_wait_seconds.
inline constexpr std::array<std::string_view, 3> kClasses{"low", "normal", "high"};
// Returns the index of a priority's class in kClasses. Priorities below 0 are low, 0 is normal, and
// priorities above 0 are high.
std::size_t class_of(std::int32_t priority);

// An attempt that got a placement in a durable batch, for the counters. (A reservation in the sense
// of the glossary is another thing.) The record does not have the job's request; look_up() reads
// the request from the follower's engine.
struct Reservation {
  // The job that was placed.
  JobId job;
  // When the attempt started: the time of the fact that has its placement.
  TimeMs at_ms = 0;
  // True: the record describes a preemption instead, and the attempt ended at `at_ms`.
  bool preempted = false;
};
using Reservations = std::vector<Reservation>;

// The instruments. Most counters exist with the value 0 from the start, so that the function
// increase() of Prometheus sees the first event. A series stays until the process ends. Each label
// has a closed set of values, so the number of series is bounded.
class Events {
 public:
  Events();

  // --- reported by the runtime -------------------------------------------------------------------
  // Counts the commit of a batch, and the events that the facts of the batch show. If the batch has
  // no facts, no counter changes. Call it on the loop's thread. Pass the result to look_up(), on a
  // thread that may read an engine with the facts of this batch.
  Reservations durable(const Released& batch);
  // Counts the placements with their topology. If `engine` is nullptr, because no engine was
  // available, the placements count with an unknown topology. A hold that was only extended does
  // not count again. Also counts the GPU time of preempted attempts.
  void look_up(const Reservations& reservations, const Engine* engine);
  // Counts the input if it begins a list. It also stores the time of the input as the time at which
  // the edge of that cluster was last heard.
  void input(const Input& input);
  // Counts a scheduling pass that took `us` microseconds.
  void pass(std::int64_t us);
  // Counts the start of a job that had a start estimate. The follower calls told_start().
  // `error_ms`: how far the actual start is from the first estimate, in either direction.
  void told_start(DurationMs error_ms);
  // --- reported by the webhook -------------------------------------------------------------------
  // Counts a decision that took `us` microseconds. `decision` is the name of a Verdict, and
  // `reason` the name of a Because.
  void admission(std::string_view decision, std::string_view reason, std::int64_t us);
  // Counts an attempt to bypass the gate. `way` is the name of a Bypass.
  void bypass(std::string_view way);
  // --- reported by the collector (surveyor.h) ----------------------------------------------------
  // Counts waiting jobs that are further back in the queue now than at the last collection.
  void moved_back(std::size_t jobs) { position_moves_.Increment(static_cast<double>(jobs)); }

  // Returns when the edge of each cluster was last heard, by the time of its last input. The key is
  // the name that the edge gave for its cluster; an empty name stands for the only cluster.
  std::map<std::string, TimeMs> last_observed() const;
  // Returns all metrics in the text format of Prometheus, version 0.0.4.
  std::string text() const;
  // Returns only the metrics of the webhook. A webhook-only replica has no other events.
  std::string admission_text() const;

 private:
  using Counters = prometheus::Family<prometheus::Counter>;
  using Histograms = prometheus::Family<prometheus::Histogram>;

  // Counts a claim (GPUs that other jobs must give back to a waiting job) that was made or that
  // ended.
  void note_claim(const fact::Claimed& claimed);
  // Counts an attempt that ended because the cluster refused it, by the cause of the end.
  void refused(Cause cause);
  // Counts a pod that is gone, if a kubelet rejected it or its node disappeared.
  void note_end(const fact::PodGone& gone);

  prometheus::Registry registry_;
  // The families and instruments live in `registry_`; docs/metrics.md has their names.
  Counters& admissions_;
  prometheus::Histogram& admission_seconds_;
  Counters& bypasses_;
  prometheus::Histogram& pass_seconds_;
  Counters& placements_;
  prometheus::Counter& reservations_expired_;
  Counters& releases_refused_;
  Counters& rejections_;
  Counters& attempts_ended_;
  // Counts preempted jobs, and the GPU time that their attempts had held.
  struct Preempted {
    Counters& jobs;
    prometheus::Counter& gpu_seconds;
  };
  Preempted preempted_;
  prometheus::Counter& claims_made_;
  Counters& claims_ended_;
  prometheus::Histogram& claim_seconds_;
  prometheus::Counter& overruns_;
  prometheus::Counter& position_moves_;
  Histograms& wait_seconds_;
  prometheus::Histogram& eta_error_seconds_;
  prometheus::Histogram& commit_seconds_;
  prometheus::Histogram& batch_facts_;
  prometheus::Counter& watch_relists_;

  // When each claim that has not ended was made, by the job that has the claim. Only the loop's
  // thread uses this map.
  std::map<JobId, TimeMs> claims_;
  mutable Mutex mutex_;
  // The time of the last input from each cluster's edge, by the name of the cluster.
  std::map<std::string, TimeMs> last_observed_ SUBAK_GUARDED_BY(mutex_);
};

}  // namespace subak::metrics

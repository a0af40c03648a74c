// Counters and histograms of past events, which no state contains. They begin at the start of the
// process. They are prometheus-cpp's instruments, in a separate registry. The edges and the runtime
// report events; /metrics reads the values. Threads: every function may be called by any thread and
// never blocks for long.
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
// Returns the index in kClasses of a priority: below 0, 0, or above 0.
std::size_t class_of(std::int32_t priority);

// An attempt that got a placement in a durable batch.
// The job's request must be looked up in the follower.
struct Reservation {
  // The job that was placed.
  JobId job;
  // When the attempt started, by the time of its fact.
  TimeMs at_ms = 0;
};
using Reservations = std::vector<Reservation>;

// The instruments. Most counters begin at 0, so that increase() sees the first event.
// A series that exists stays until the process ends. Labels have closed vocabularies, so the number
// of series is bounded.
class Events {
 public:
  Events();

  // --- reported by the runtime -------------------------------------------------------------------
  // Counts commits, ends, overruns and refusals. A batch without facts counts nothing.
  // Call it on the loop's thread. Pass the result to look_up() on a thread that may read an engine
  // with the facts of this batch.
  Reservations durable(const Released& batch);
  // Counts the placements with their topology. nullptr: no engine was available, so they count with
  // an unknown topology.
  // A hold that was only extended is not counted again.
  void look_up(const Reservations& reservations, const Engine* engine);
  // Counts a list that begins, and stores when the edge of the input's cluster was last heard.
  void input(const Input& input);
  // Counts a scheduling pass that took `us` microseconds.
  void pass(std::int64_t us);
  // Counts the start of a job that had a start estimate. The follower reports it.
  // `error_ms`: the difference between the start and the first estimate, early or late.
  void told_start(DurationMs error_ms);
  // --- reported by the webhook -------------------------------------------------------------------
  // Counts a decision that took `us` microseconds. The names are those of Verdict and Because.
  void admission(std::string_view decision, std::string_view reason, std::int64_t us);
  // Counts an attempted way around the gate, by the name of a Bypass.
  void bypass(std::string_view way);
  // --- reported by the collector (surveyor.h) ----------------------------------------------------
  // Counts waiting jobs that are now further back in the queue than at the last collection.
  void moved_back(std::size_t jobs) { position_moves_.Increment(static_cast<double>(jobs)); }

  // Returns when the edge of each cluster was last heard, by the name that the edge gave; empty:
  // the only cluster. Times are those of the inputs.
  std::map<std::string, TimeMs> last_observed() const;
  // Returns all metrics in the text format of Prometheus, version 0.0.4.
  std::string text() const;
  // Returns only the metrics that the webhook reported. A webhook-only replica has no others.
  std::string admission_text() const;

 private:
  using Counters = prometheus::Family<prometheus::Counter>;
  using Histograms = prometheus::Family<prometheus::Histogram>;

  // Counts a claim that was made or ended.
  void note_claim(const fact::Claimed& claimed);
  // Counts a refusal by the cluster, by its cause.
  void refused(Cause cause);

  prometheus::Registry registry_;
  // The families and instruments live in `registry_`; docs/metrics.md has their names.
  Counters& admissions_;
  prometheus::Histogram& admission_seconds_;
  Counters& bypasses_;
  prometheus::Histogram& pass_seconds_;
  Counters& placements_;
  prometheus::Counter& reservations_expired_;
  Counters& releases_refused_;
  Counters& attempts_ended_;
  prometheus::Counter& preemptions_;
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

  // When the claims were made that have not ended, by claimant. Only the loop's thread uses it.
  std::map<JobId, TimeMs> claims_;
  mutable Mutex mutex_;
  // By the name of the cluster: the time of the last input of its edge.
  std::map<std::string, TimeMs> last_observed_ SUBAK_GUARDED_BY(mutex_);
};

}  // namespace subak::metrics

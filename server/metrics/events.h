// What happened since the start: counters and histograms that no state holds. The edges and the
// runtime report, /metrics reads. Threads: every function may be called by any thread and never
// blocks for long.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/fact.h"
#include "placement/request.h"
#include "server/metrics/histogram.h"
#include "server/runtime/runtime.h"

namespace subak::metrics {

// A counter per value of one or two labels, both from closed vocabularies.
class CounterTable {
 public:
  using Key = std::pair<std::string, std::string>;
  void add(std::string_view first, std::string_view second = {}, std::uint64_t by = 1);
  std::map<Key, std::uint64_t> read() const;

 private:
  mutable std::mutex mutex_;
  std::map<Key, std::uint64_t> counts_;
};

// Classes of job_wait_seconds: of the job's priority.
inline constexpr std::array<std::string_view, 3> kClasses{"low", "normal", "high"};
std::size_t class_of(std::int32_t priority);

// Reservations of one durable batch: what was asked for is to be looked up in the follower.
struct Reservation {
  JobId job;
  TimeMs at_ms = 0;
};
using Reservations = std::vector<Reservation>;

struct Events {
  // --- reported by the runtime -------------------------------------------------------------------
  // On the loop's thread. What it returns goes to look_up() on a thread that may read an engine
  // which has seen the batch.
  Reservations durable(const Released& batch);
  // No engine: nobody could be asked; the placements still count.
  void look_up(const Reservations& reservations, const Engine* engine);
  void input(const Input& input);
  void pass(std::int64_t us) { pass_us.observe(us); }
  // --- reported by the webhook -------------------------------------------------------------------
  void admission(std::string_view decision, std::string_view reason, std::int64_t us);
  void bypass() { bypass_attempts.fetch_add(1, std::memory_order_relaxed); }

  Histogram admission_us{{10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10'000, 100'000}, 1'000'000};
  Histogram pass_us{{10, 50, 100, 500, 1000, 5000, 10'000, 50'000, 100'000, 500'000, 1'000'000},
                    1'000'000};
  Histogram commit_us{{100, 200, 500, 1000, 2000, 5000, 10'000, 20'000, 50'000, 100'000, 1'000'000},
                      1'000'000};
  Histogram batch_facts{{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000}, 1};
  std::array<Histogram, kClasses.size()> wait_ms{wait_histogram(), wait_histogram(),
                                                 wait_histogram()};
  CounterTable admissions;
  CounterTable placements;  // by topology; "unknown" if the job was gone before it was looked up
  std::atomic<std::uint64_t> bypass_attempts{0};
  std::atomic<std::uint64_t> reservations_expired{0};
  std::atomic<std::uint64_t> watch_relists{0};

 private:
  static Histogram wait_histogram();
};

}  // namespace subak::metrics

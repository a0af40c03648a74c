// The form in which StartCalibration is stored next to a checkpoint. StartCalibration compares past
// starts with their estimates, and sizes the next estimates (engine/forecast/start_calibration.h).
// The record is neither a fact nor a part of the state. A program that cannot read the record
// continues without it, and gives wider intervals.
// Threads: any; plain values.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"

namespace subak {

// The ratio (actual wait + 10 min) / (forecast wait + 10 min) of one start.
struct RatioRecord {
  // The ratio; above 0.
  double ratio = 0;

  template <class V>
  void fields(V& v) {
    v(1, "ratio", ratio);
  }
};

// A waiting job and its first start estimate. All times are milliseconds since 1970 UTC.
struct WaitRecord {
  // The job, which waits for its first start.
  JobId job;
  // The time of the estimate, and the forecast start.
  TimeMs at_ms = 0, start_ms = 0;
  // The estimated interval, with its most likely start (ExpectedStart).
  TimeMs earliest_ms = 0, expected_ms = 0, latest_ms = 0;
  // True: the interval came from past starts, not from the defaults.
  bool learned = false;
  // True: the job has already waited beyond `latest_ms`, and counts as a miss.
  bool missed = false;

  template <class V>
  void fields(V& v) {
    v(1, "job", job);
    v(2, "at_ms", at_ms);
    v(3, "start_ms", start_ms);
    v(4, "earliest_ms", earliest_ms);
    v(5, "expected_ms", expected_ms);
    v(6, "latest_ms", latest_ms);
    v(7, "learned", learned);
    v(8, "missed", missed);
  }
};

// All outcomes and open estimates.
struct CalibrationRecord {
  static constexpr std::string_view kName = "told_starts";
  // The last fact that the record includes.
  std::uint64_t seq = 0;
  // The part of the ratios that the next interval leaves out, from 0 to 1.
  double level = 0;
  // The open estimates by job, at most limits::kMaxCalibrationStarts.
  std::vector<WaitRecord> waiting;
  // The outcomes, the oldest first, at most limits::kMaxCalibrationOutcomes.
  std::vector<RatioRecord> ratios;

  template <class V>
  void fields(V& v) {
    v(1, "seq", seq);
    v(2, "level", level);
    // Numbers 3 and 4 belonged to ratios with 1 min instead of 10 min, sorted by the length of the
    // forecast wait.
    v(5, "waiting", waiting);
    v(6, "ratios", ratios);
  }
};

}  // namespace subak

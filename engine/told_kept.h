// What is kept of ToldStarts (engine/told_starts.h) beside a checkpoint, field by field. It is no fact and
// no state: who cannot read it goes on without, and tells wider intervals. Threads: plain values.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"

namespace subak {

// (actual + 10 min) / (forecast + 10 min) of one start.
struct RatioKept {
  double ratio = 0;

  template <class V>
  void fields(V& v) {
    v(1, "ratio", ratio);
  }
};

// A job that waits, and what it was told first.
struct WaitKept {
  JobId job;
  TimeMs at_ms = 0, start_ms = 0;  // when, and what the forecast said
  TimeMs earliest_ms = 0, expected_ms = 0, latest_ms = 0;
  bool learned = false;
  bool missed = false;  // it has waited for longer already

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

struct ToldKept {
  static constexpr std::string_view kName = "told_starts";
  std::uint64_t seq = 0;          // the last fact that is in it
  double level = 0;               // part of all starts that is to miss its interval
  std::vector<WaitKept> waiting;  // by job, at most limits::kToldStarts
  std::vector<RatioKept> ratios;  // oldest first, at most limits::kToldOutcomes

  template <class V>
  void fields(V& v) {
    v(1, "seq", seq);
    v(2, "level", level);
    // 3 and 4 were ratios with a minute for ten, by how far the forecast looked.
    v(5, "waiting", waiting);
    v(6, "ratios", ratios);
  }
};

}  // namespace subak

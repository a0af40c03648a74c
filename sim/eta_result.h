// How good the starts were that were told at submission. Threads: none.
#pragma once

#include <cstddef>

namespace subak::sim {

// Over the jobs that were told a start, and waited more than a minute.
struct EtaResult {
  std::size_t jobs = 0;
  double median_error_s = 0;             // of |start - told|
  double median_uncorrected_s = 0;       // the same, had it been told as the forecast says it
  double within_1m = 0, within_10m = 0;  // parts of 1
  double coverage_90 = 0;                // started within the interval that was told
  double median_width_s = 0;             // of that interval
  double median_wait_s = 0;
};

}  // namespace subak::sim

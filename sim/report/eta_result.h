// The quality of start estimates made at submission. Threads: none.
#pragma once

#include <cstddef>

namespace subak::sim {

// Over the jobs that got a start estimate (`told`) and waited more than a minute.
struct EtaResult {
  std::size_t jobs = 0;
  double median_error_s = 0;             // of |start - told|
  double median_uncorrected_s = 0;       // the same for the raw forecast, without correction
  double within_1m = 0, within_10m = 0;  // parts of 1
  double coverage_90 = 0;                // started within the estimated interval
  double median_width_s = 0;             // of that interval
  double median_wait_s = 0;
};

}  // namespace subak::sim

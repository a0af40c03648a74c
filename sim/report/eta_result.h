// The quality of start estimates that were made at submission. Threads: any; plain values.
#pragma once

#include <cstddef>

namespace subak::sim {

// The figures of the jobs that got a start estimate and waited more than a minute.
struct EtaResult {
  // The number of jobs in the figures. 0: all other figures are 0.
  std::size_t jobs = 0;
  // The median of |start - expected start|, with the corrections of StartCalibration.
  double median_error_s = 0;
  // The median of |start - expected start| for the raw forecast.
  double median_uncorrected_s = 0;
  // The parts of the jobs, from 0 to 1, whose error is at most a minute, and at most ten minutes.
  double within_1m = 0, within_10m = 0;
  // The part of the jobs that started within the estimated interval. With good intervals, the part
  // is nine tenths.
  double coverage_90 = 0;
  // The median width of the estimated interval.
  double median_width_s = 0;
  // The median of the waits of these jobs.
  double median_wait_s = 0;
};

}  // namespace subak::sim

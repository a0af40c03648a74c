// Seeded randomness that gives the same numbers on every build. It uses std::mt19937_64, whose
// numbers the standard specifies. It maps them by hand, as the standard does not specify the
// results of its distributions.
// Threads: none.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

#include "accounting/decay.h"

namespace subak::sim {

// One sequence. Two objects with one seed give the same numbers in the same calls.
class Rng {
 public:
  explicit Rng(std::uint64_t seed) : engine_(seed) {}
  // Uniform in 64 bits.
  std::uint64_t next() { return engine_(); }
  // Uniform in [0, n); n > 0.
  std::uint64_t below(std::uint64_t n) {
    __extension__ typedef unsigned __int128 Wide;
    return static_cast<std::uint64_t>(static_cast<Wide>(engine_()) * n >> 64);
  }
  // Uniform in [lo, hi].
  std::int64_t between(std::int64_t lo, std::int64_t hi) {
    return lo + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(hi - lo) + 1));
  }
  // True with this probability in percent.
  bool percent(std::uint64_t p) { return below(100) < p; }
  // Uniform in [0, 1).
  double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  // Exponential with this mean, by the core's own logarithm.
  double exponential(double mean) { return -mean * 0.6931471805599453 * log2_exact(1.0 - unit()); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace subak::sim

// Random numbers from a seed, which are the same on every build. The class uses std::mt19937_64,
// whose numbers the standard specifies. The class has its own code for distributions, because the
// standard does not specify their results.
// Threads: one at a time for each object.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

#include "accounting/decay.h"

namespace subak::sim {

// One sequence of numbers. Two objects with the same seed return the same numbers for the same
// calls.
class Rng {
 public:
  explicit Rng(std::uint64_t seed) : engine_(seed) {}
  // Returns a uniform number of 64 bits.
  std::uint64_t next() { return engine_(); }
  // Returns a uniform number in [0, n); n > 0.
  std::uint64_t below(std::uint64_t n) {
    __extension__ typedef unsigned __int128 Wide;
    return static_cast<std::uint64_t>(static_cast<Wide>(engine_()) * n >> 64);
  }
  // Returns a uniform number in [lo, hi].
  std::int64_t between(std::int64_t lo, std::int64_t hi) {
    return lo + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(hi - lo) + 1));
  }
  // Returns true with this probability in percent.
  bool percent(std::uint64_t p) { return below(100) < p; }
  // Returns a uniform number in [0, 1).
  double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  // Returns an exponential number with this mean. The function uses Subak's own logarithm
  // (log2_exact), so every build gets the same number.
  double exponential(double mean) { return -mean * 0.6931471805599453 * log2_exact(1.0 - unit()); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace subak::sim

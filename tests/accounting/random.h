// Random integers from a seed, equal with every standard library. Threads: one at a time.
#pragma once

#include <cstdint>
#include <random>

namespace subak::test {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  // Returns a number from 0 to bound - 1.
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(bound));
  }
  bool one_in(std::int64_t n) { return below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace subak::test

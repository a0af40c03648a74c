// Computes the meters that all accounts would have if the half-life had been another one from the
// first fact on. The meters are the decayed sums of usage, surplus and adjustment. A change of the
// half-life needs them (docs/design/0108). The class applies all facts again to a second state.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "accounting/second_meters.h"
#include "core/quantity.h"
#include "model/fact.h"

namespace subak {

class State;

class HalfLifeFold {
 public:
  // Begins without facts. `half_life_ms`: 0: usage does not decay.
  explicit HalfLifeFold(DurationMs half_life_ms);
  ~HalfLifeFold();
  HalfLifeFold(const HalfLifeFold&) = delete;
  HalfLifeFold& operator=(const HalfLifeFold&) = delete;

  // Applies the next fact of the log. The first fact has number 1, and no fact may be left out
  // (asserted). A PolicySet fact does not change the half-life. A MetersSnapshot fact changes no
  // meter.
  void fold(Fact fact);
  // Returns the number of the last fact; 0: there was none.
  std::uint64_t seq() const;
  DurationMs half_life_ms() const { return half_life_ms_; }
  // Returns the values of all meters at the time of the last fact, by account. Leaves out accounts
  // whose values are all 0. O(accounts).
  std::vector<MeterValues> values() const;

 private:
  DurationMs half_life_ms_;
  std::unique_ptr<State> state_;
};

}  // namespace subak

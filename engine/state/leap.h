// A leap of time at a start, while the clock that made it may still prove wrong (fact::TimeLeapt), and the rows of
// the books over that time.
//
// Threads: none; State owns it. Only state/ changes it.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "accounting/ledger.h"
#include "core/quantity.h"
#include "engine/fact.h"

namespace subak::state {

class Leap {
 public:
  struct Row {
    std::uint64_t charged = 0;  // number of its fact
    LedgerRow row;
  };

  // There is one, and it is not settled.
  bool is_open() const { return to_ms_ != 0; }
  TimeMs from_ms() const { return from_ms_; }
  TimeMs to_ms() const { return to_ms_; }
  // Until then it may prove wrong; 0: there is none.
  TimeMs until_ms() const;
  const std::vector<Row>& rows() const { return rows_; }

  // A further leap while one is open makes that longer.
  void apply(const fact::TimeLeapt& f);
  // A row was written by fact `charged`: it is remembered if it is of that time, up to limits::kMaxLeapRows.
  void charged(std::uint64_t charged, const LedgerRow& row);
  // A fact was made then: a leap that has stood until then is settled.
  void advance(TimeMs fact_ms);
  void keep(const std::function<void(fact::Body)>& sink) const;

 private:
  TimeMs from_ms_ = 0, to_ms_ = 0;
  std::vector<Row> rows_;
};

}  // namespace subak::state

// A leap of time (fact::TimeLeapt): the service started so long after the last fact that its clock
// may be wrong. Example: the machine's clock is a year ahead. The object records the ledger rows
// that overlap the leap. If the clock proves wrong, the engine refunds them (in::ClockWrong).
//
// Threads: one at a time. State owns the object. Only code in state/ changes the object.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "accounting/ledger.h"
#include "core/quantity.h"
#include "model/fact.h"

namespace subak::state {

// The open leap, if there is one.
class Leap {
 public:
  struct Row {
    // The number of the row's fact.
    std::uint64_t charged = 0;
    // The row as it was charged.
    LedgerRow row;
  };

  // True if there is a leap and it is not settled: the clock may still prove wrong.
  bool is_open() const { return to_ms_ != 0; }
  // The time of the last fact before the leap, and the time at which the service started. 0: there
  // is no leap.
  TimeMs from_ms() const { return from_ms_; }
  TimeMs to_ms() const { return to_ms_; }
  // Returns the time until which the leap stays open, so that the clock may still prove wrong. 0:
  // there is no leap.
  TimeMs until_ms() const;
  // The ledger rows that overlap the time of the leap, in the order of their facts.
  const std::vector<Row>& rows() const { return rows_; }

  // Records a leap. If a leap is already open, the new leap extends it. A fact of a checkpoint may
  // instead add a row, and a fact without a time settles the leap.
  void apply(const fact::TimeLeapt& f);
  // Records the ledger row of the fact with number `charged` if the row overlaps the leap and
  // corrects no other row. At most limits::kMaxLeapRows rows are recorded.
  void charged(std::uint64_t charged, const LedgerRow& row);
  // Settles the leap if the time of a new fact, `fact_ms`, is after until_ms().
  void advance(TimeMs fact_ms);
  // Passes an open leap on as facts: the leap, then its rows.
  void snapshot(const std::function<void(fact::Body)>& sink) const;

 private:
  TimeMs from_ms_ = 0, to_ms_ = 0;
  std::vector<Row> rows_;
};

}  // namespace subak::state

#include "engine/state/leap.h"

#include "core/limits.h"
#include "core/must.h"

namespace subak::state {

TimeMs Leap::until_ms() const { return is_open() ? to_ms_ + limits::kClockProofMs : 0; }

void Leap::apply(const fact::TimeLeapt& f) {
  if (f.charged != 0) {
    rows_.push_back({f.charged, f.row});
    return;
  }
  if (f.to_ms == 0) {
    *this = Leap();
    return;
  }
  must(f.from_ms < f.to_ms && f.to_ms >= to_ms_, "a leap goes forward in time");
  if (!is_open()) from_ms_ = f.from_ms;
  to_ms_ = f.to_ms;
}

void Leap::charged(std::uint64_t charged, const LedgerRow& row) {
  const bool over = is_open() && row.from_ms < to_ms_ && row.to_ms > from_ms_;
  must(charged != 0, "a row over a leap has the number of its fact");
  if (over && row.corrects == 0 && rows_.size() < limits::kMaxLeapRows) {
    rows_.push_back({charged, row});
  }
}

void Leap::advance(TimeMs fact_ms) {
  if (is_open() && fact_ms > until_ms()) *this = Leap();
}

void Leap::snapshot(const std::function<void(fact::Body)>& sink) const {
  if (!is_open()) return;
  sink(fact::TimeLeapt{from_ms_, to_ms_, 0, {}});
  for (const Row& row : rows_) sink(fact::TimeLeapt{0, 0, row.charged, row.row});
}

}  // namespace subak::state

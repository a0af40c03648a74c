#include "accounting/ledger.h"

#include <algorithm>
#include <chrono>

#include "core/must.h"

namespace subak {

std::uint32_t MonthClosing::days() const { return open_days == 0 ? kMonthOpenDays : open_days; }

TimeMs open_since(TimeMs now, const MonthClosing& months) {
  using namespace std::chrono;
  must(months.days() <= kMostMonthOpenDays, "at most two months are open");
  const sys_days day{floor<std::chrono::days>(milliseconds(now - months.days() * kDayMs))};
  const year_month_day date(day);
  const TimeMs begin =
      milliseconds(sys_days(date.year() / date.month() / 1).time_since_epoch()).count();
  return std::max(begin, months.closed_until_ms);
}

MonthClosing with_open_days(const MonthClosing& months, std::uint32_t open_days, TimeMs now) {
  MonthClosing next = months;
  next.open_days = open_days;
  if (next.days() == months.days()) return months;
  next.closed_until_ms = open_since(now, months);
  return next;
}

void Ledger::add(const LedgerRow& row) {
  must(row.to_ms > row.from_ms && row.milligpu != 0, "a row is of something");
  must(static_cast<bool>(row.payer), "a row has a payer");
  const GpuTime amount = row.amount();
  sums_[{row.payer, row.holder, row.state, row.product}] += amount;
  by_node_[row.node] += amount;
  total_ += amount;
  ++rows_;
}

GpuTime Ledger::of_node(NodeId node) const {
  const auto it = by_node_.find(node);
  return it == by_node_.end() ? GpuTime() : it->second;
}

void Ledger::restore_sum(const Key& key, GpuTime amount) {
  must(sums_.emplace(key, amount).second, "a checkpoint has each sum once");
  total_ += amount;
}

void Ledger::restore_node(NodeId node, GpuTime amount) {
  must(by_node_.emplace(node, amount).second, "a checkpoint has each node once");
}

}  // namespace subak

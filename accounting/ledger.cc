#include "accounting/ledger.h"

#include <chrono>

#include "core/must.h"

namespace subak {

TimeMs open_since(TimeMs now) {
  using namespace std::chrono;
  const sys_days day{floor<days>(milliseconds(now - kMonthOpenMs))};
  const year_month_day date(day);
  return milliseconds(sys_days(date.year() / date.month() / 1).time_since_epoch()).count();
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

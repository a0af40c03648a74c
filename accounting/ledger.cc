#include "accounting/ledger.h"

#include <cassert>

namespace subak {

void Ledger::add(const LedgerRow& row) {
  assert(row.to_ms > row.from_ms && row.milligpu != 0 && row.payer);
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
  sums_[key] += amount;
  total_ += amount;
}

void Ledger::restore_node(NodeId node, GpuTime amount) { by_node_[node] += amount; }

}  // namespace subak

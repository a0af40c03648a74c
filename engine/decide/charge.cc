// What is written into the books, and when.
#include <algorithm>
#include <utility>

#include "engine/decide/decide.h"

namespace subak::decide {

// One ledger row for what the pod held since its last one. Pods without GPUs cost nothing.
void charge(Decision& d, const state::Job& job, std::uint32_t rank, TimeMs to, UsageState state,
            AccountId payer) {
  const state::Pod& pod = job.pods[rank];
  if (pod.slot.milligpu == 0 || to <= pod.since_ms) return;
  LedgerRow row;
  row.allocation = {job.id, rank, job.attempt};
  row.from_ms = pod.since_ms;
  row.to_ms = to;
  row.holder = job.leaf;
  row.payer = payer;
  row.state = state;
  row.node = pod.slot.node;
  row.product = d.s.product_of(pod.slot);
  row.milligpu = pod.slot.milligpu;
  d.emit(fact::Charged{std::move(row)});
}

// The last row of a bound pod; on a node that went silent the platform pays from its last heartbeat
// on.
void charge_end(Decision& d, const state::Job& job, std::uint32_t rank, TimeMs to) {
  const state::Pod& pod = job.pods[rank];
  const NodeSpec* node = d.s.fleet().node(pod.slot.node);
  TimeMs good_until = to;
  if (node != nullptr && !node->ready && node->not_ready_since_ms > 0) {
    good_until = std::clamp(node->not_ready_since_ms, pod.since_ms, to);
  }
  const bool foreign = job.origin == JobOrigin::kForeign;
  charge(d, job, rank, good_until, foreign ? UsageState::kForeign : UsageState::kUsed, job.leaf);
  charge(d, job, rank, to, UsageState::kLost, kPlatform);
}

// Before anything happens on the new day.
void close_days(Decision& d) {
  const state::Nodes& nodes = d.s.nodes();
  while (nodes.size() > 0 && nodes.billed_until() + kDayMs <= d.s.now()) {
    const TimeMs midnight = nodes.billed_until() + kDayMs;
    for (const auto& [name, id] : state::Nodes::ByName(nodes.all())) {
      d.emit(d.s.billed(id, midnight));
    }
  }
}

}  // namespace subak::decide

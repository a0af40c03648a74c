// Writes ledger rows and the GPU time of nodes (NodeBilled).
#include <algorithm>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "core/must.h"
#include "engine/decide/decide.h"
#include "engine/derive/deadlines.h"
#include "engine/state/jobs/job_request.h"
#include "engine/state/snapshot.h"
#include "model/product.h"

namespace subak::decide {

namespace {

// Returns the profile of the MIG slices that the pod holds; empty: it holds no slices. On a node
// with the MIG strategy "single", a pod asks for GPUs, and the product names the profile.
std::string profile_of(const Decision& d, const state::Pod& pod, std::string_view product) {
  if (pod.shape) {
    const PodShape& shape = state::shape_of(d.s.fleet(), pod);
    if (shape.kind == GpuKind::kMig) return shape.profile;
  }
  return std::string(product_profile(product));
}

// Writes one row, within one UTC day.
void charge_day(Decision& d, const state::Job& job, std::uint32_t rank, TimeMs to, UsageState state,
                AccountId payer, RowClock clock) {
  const state::Pod& pod = job.pods[rank];
  must(pod.holds_slot() && pod.slot.milligpu > 0, "a row is of GPUs that are held");
  LedgerRow row;
  row.allocation = {job.id, rank, job.attempt};
  row.from_ms = pod.since_ms;
  row.to_ms = std::min(to, derive::midnight_after(pod.since_ms));
  row.holder = job.leaf;
  row.payer = payer;
  row.state = state;
  row.node = pod.slot.node;
  row.product = std::string(d.s.fleet().products().name(d.s.fleet().product_of(pod.slot.node)));
  row.milligpu = pod.slot.milligpu;
  row.clock = row.to_ms == to ? clock : RowClock::kService;
  if (row.from_ms < open_since(d.s.now(), d.s.policy().books.months)) row.booked_ms = d.s.now();
  row.cluster = d.s.clusters().at(job.id.cluster()).name;
  if (job.origin != JobOrigin::kApi) row.ns = job.ns();
  row.profile = profile_of(d, pod, row.product);
  must(row.from_ms < row.to_ms && row.to_ms <= to, "a row is longer than nothing");
  d.emit(fact::Charged{std::move(row)});
}

// Returns the payer for a pod that was bound: the job's account, or the platform for a system
// namespace.
AccountId payer_of(const Decision& d, const state::Job& job) {
  const bool system = job.leaf == kUnassigned && is_system_namespace(d.s.policy(), job.ns());
  return system ? kPlatform : job.leaf;
}

}  // namespace

void charge(Decision& d, const state::Job& job, std::uint32_t rank, TimeMs to, UsageState state,
            AccountId payer, RowClock clock) {
  must(rank < job.pods.size() && to <= d.s.now(), "a pod is charged for time that has passed");
  if (job.pods[rank].slot.milligpu == 0 || !d.s.allocations().keeps_books()) return;
  while (job.pods[rank].since_ms < to) charge_day(d, job, rank, to, state, payer, clock);
  must(job.pods[rank].since_ms >= to, "a pod is charged up to then");
}

void charge_end(Decision& d, const state::Job& job, std::uint32_t rank, TimeMs to, RowClock clock) {
  if (!d.s.allocations().keeps_books()) return;
  const state::Pod& pod = job.pods[rank];
  must(pod.is_bound() && pod.since_ms <= to, "usage that ends is of a bound pod");
  const NodeSpec* const node = d.s.fleet().node(pod.slot.node);
  TimeMs good_until = to;
  if (node != nullptr && !node->ready && node->not_ready_since_ms > 0) {
    good_until = std::clamp(std::max(node->not_ready_since_ms, pod.seen_ms), pod.since_ms, to);
  }
  const bool foreign = job.origin == JobOrigin::kForeign;
  charge(d, job, rank, good_until, foreign ? UsageState::kForeign : UsageState::kUsed,
         payer_of(d, job), good_until == to ? clock : RowClock::kReported);
  charge(d, job, rank, to, UsageState::kLost, kPlatform, clock);
}

// Runs before anything else happens on the new day. After a large clock correction, it does not
// write facts for more than limits::kMaxClosedDays + 1 midnights.
void close_days(Decision& d) {
  if (!d.s.allocations().keeps_books()) return;
  const state::Nodes& nodes = d.s.nodes();
  const TimeMs today = d.s.now() - d.s.now() % kDayMs;
  while (nodes.size() > 0 && nodes.billed_until() < today) {
    const TimeMs midnight =
        std::max(nodes.billed_until() + kDayMs, today - limits::kMaxClosedDays * kDayMs);
    for (const auto& [name, id] : state::Nodes::ByName(nodes.all())) {
      d.emit(state::billed(d.s, id, midnight));
    }
    must(nodes.billed_until() >= midnight, "every node is billed until midnight");
  }
}

void close_rows(Decision& d) {
  const std::size_t before = d.out.facts.size();
  std::vector<ClusterId> clusters;
  for (const auto& [id, cluster] : d.s.clusters().all()) clusters.push_back(id);
  for (const ClusterId id : clusters) {
    while (const auto due = derive::next_row(d.s, id)) {
      if (due->due_ms > d.s.now()) break;
      if (d.out.facts.size() - before >= limits::kMaxCutRowsPerTurn) return;
      must(due->place.job.cluster() == id, "a row is of a pod of the cluster");
      charge_end(d, d.s.jobs().at(due->place.job), due->place.rank, due->midnight);
    }
  }
}

}  // namespace subak::decide

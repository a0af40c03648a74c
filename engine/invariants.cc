// What must hold after every input, checked from scratch.
#include <algorithm>
#include <array>
#include <cassert>
#include <cstdlib>
#include <map>

#include "engine/impl.h"

namespace subak {
namespace {

// An invariant is a programmer's promise: its breach stops the program, also in a release build.
void must(bool ok, const char* what) {
  if (!ok) {
    assert(ok && what);
    std::abort();
  }
}

}  // namespace

void Engine::check_invariants() const {
  const Impl& s = *impl_;
  s.tree.check_invariants();
  s.fleet.check_invariants();
  s.search.check_invariants();
  s.ready.check_invariants();
  std::map<AccountId, std::pair<MilliGpu, MilliGpu>> by_leaf;  // held, running
  std::array<std::size_t, EnumText<JobState>::names.size()> counts{};
  std::size_t slots = 0;
  for (JobId id : s.job_ids()) {
    const Job& job = *s.find_job(id);
    ++counts[static_cast<std::size_t>(job.state)];
    must(s.ready.contains(id) == (job.state == JobState::kQueued), "queued jobs are in the queue");
    must(job.state != JobState::kDone || job.pods_holding() == 0, "an ended job holds nothing");
    must(job.state != JobState::kQueued || job.pods_holding() == 0, "a queued job holds nothing");
    for (std::uint32_t rank = 0; rank < job.pods.size(); ++rank) {
      const Pod& pod = job.pods[rank];
      if (!pod.holds_slot()) continue;
      ++slots;
      const auto node = s.on_node.find(pod.slot.node);
      must(node != s.on_node.end() && node->second.count({id, rank}) == 1, "a slot is on its node");
      if (job.leaf == kUnassigned) continue;
      (pod.is_bound() ? by_leaf[job.leaf].second : by_leaf[job.leaf].first) += pod.slot.milligpu;
    }
  }
  must(counts == s.counts, "jobs are counted by state");
  must(s.job_ids().size() == s.jobs.size(), "each job is in the list of ids once");
  std::size_t indexed = 0;
  for (const auto& [node, pods] : s.on_node) indexed += pods.size();
  must(indexed == slots, "each slot belongs to one pod");
  MilliGpu held = 0, running = 0;
  for (const auto& [leaf, amounts] : by_leaf) {
    held += amounts.first;
    running += amounts.second;
  }
  must(s.tree.node(kRootAccount).held == held, "the tree holds what the jobs hold");
  must(s.tree.node(kRootAccount).running == running, "the tree runs what the jobs run");
  must(residual(s.now).is_zero(), "the bill closes");
}

std::vector<NodeBill> Engine::bill(TimeMs t) const {
  const Impl& s = *impl_;
  std::map<NodeId, GpuTime> open;
  for (const auto& [node, pods] : s.on_node) {
    for (const auto& [id, rank] : pods) {
      const Pod& pod = s.find_job(id)->pods[rank];
      open[node] += GpuTime::of(pod.slot.milligpu, t - pod.since_ms);
    }
  }
  std::vector<NodeBill> out;
  for (const auto& [key, id] : s.node_ids) {
    NodeBill& bill = out.emplace_back();
    bill.node = id;
    bill.capacity = s.fleet.books(id, t);
    bill.charged = s.ledger.of_node(id) + open[id];
    bill.residual = bill.capacity.allocated - bill.charged;
    const GpuTime parts = bill.capacity.allocated + bill.capacity.idle + bill.capacity.stranded +
                          bill.capacity.unusable;
    if (parts != bill.capacity.installed) bill.residual += bill.capacity.installed - parts;
  }
  return out;
}

GpuTime Engine::residual(TimeMs t) const {
  GpuTime sum;
  for (const NodeBill& bill : bill(t)) {
    sum += bill.residual < GpuTime() ? GpuTime() - bill.residual : bill.residual;
  }
  return sum;
}

}  // namespace subak

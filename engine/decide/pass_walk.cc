#include "engine/decide/pass_walk.h"

#include <algorithm>
#include <limits>

#include "core/account_limits.h"
#include "core/limits.h"
#include "core/must.h"
#include "engine/decide/claims.h"
#include "engine/derive/claims.h"
#include "engine/derive/entitled_place.h"
#include "engine/derive/preemption/preemptible.h"
#include "model/bounds/pass_limits.h"

namespace subak::decide {

std::uint64_t freed_point(const Decision& d) { return d.s.fleet().freed_version() + 1; }
std::uint64_t freed_point(const Decision& d, ShapeId shape) {
  return d.s.fleet().freed_version(shape) + 1;
}

bool is_blocked(const Decision& d, const PassMemory::BlockedShapes& blocked, ShapeId shape) {
  must(shape.value < blocked.size(), "the cache has room for every shape");
  const PassMemory::Blocked& known = blocked[shape.value];
  return known.at == freed_point(d, shape) && known.serial == d.s.fleet().shapes().serial(shape);
}

void note_blocked(const Decision& d, PassMemory::BlockedShapes& blocked, ShapeId shape) {
  if (!is_blocked(d, blocked, shape)) {
    blocked[shape.value] = {d.s.fleet().shapes().serial(shape), freed_point(d, shape)};
  }
}

PassWalk::PassWalk(Decision& d, const ReservedNodes& reserved_nodes, PassMemory& memory,
                   PassMemory::BlockedShapes& blocked, std::set<ShapeId> reserved)
    : d_(d),
      reserved_nodes_(reserved_nodes),
      memory_(memory),
      blocked_(blocked),
      reserved_(std::move(reserved)),
      may_claim_(some_may_claim(d)),
      begun_(freed_point(d)),
      rule_(target_share_rule(d.s.policy())),
      pass_(d.s.jobs().ready(), d.s.tree(), d.s.policy().order, rule_, d.s.allocations().tick(),
            d.s.now()) {
  for (const ShapeId shape : unknown_shapes()) {
    if (has_place(shape)) {
      open_.push_back(shape);
    } else {
      no_place(shape);
    }
  }
  // A claimant may start elsewhere in its turn until a victim is asked.
  for (const state::Claim& claim : d.s.claims().all()) {
    if (derive::any_asked(d.s, claim)) pass_.block_job(claim.job);
  }
  const PassMemory::Point point{freed_point(d), d.s.tree().structure_version(),
                                d.s.reserved_nodes().version()};
  if (memory.blocked_by_rule_at != point) memory.blocked_by_rule.clear();
  memory.blocked_by_rule_at = point;
  for (const PassMemory::BlockedByRule& rule : memory.blocked_by_rule) apply(rule);
}

void PassWalk::no_place(ShapeId shape) {
  note_blocked(d_, blocked_, shape);
  pass_.block_shape(shape);
  newly_blocked_ = true;
}

void PassWalk::block_others(Work& work) {
  for (; !open_.empty() && !work.enough(); open_.pop_back()) {
    const ShapeId shape = open_.back();
    if (is_blocked(d_, blocked_, shape)) continue;
    ++work.checks;
    if (has_place(shape)) return;
    no_place(shape);
  }
}

bool PassWalk::skip_if_drained(const state::Job& job, TimeMs end_ms,
                               derive::ReservedUntil& reserved_until) {
  if (d_.s.nodes().planned_drains().empty()) return false;
  const FleetView undrained(d_.s.fleet(), reserved_until.beside_drains(end_ms));
  if (!d_.search.find(undrained, job.shape, job.id)) return false;
  skip_drained(job, end_ms);
  return true;
}

void PassWalk::skip_drained(const state::Job& job, TimeMs end_ms) {
  TooLate& known = too_late_.try_emplace(job.shape, TooLate{end_ms, 0}).first->second;
  must(known.jobs < limits::kMaxFillLooks, "a shape is passed over once");
  known.end_ms = std::min(known.end_ms, end_ms);
  if (++known.jobs < limits::kMaxFillLooks) {
    pass_.block_job(job.id);
  } else {
    pass_.block_shape(job.shape);
  }
}

bool PassWalk::is_too_late(ShapeId shape, TimeMs end_ms) const {
  const auto known = too_late_.find(shape);
  return known != too_late_.end() && end_ms >= known->second.end_ms;
}

std::set<ShapeId> PassWalk::too_late() const {
  std::set<ShapeId> shapes;
  for (const auto& [shape, known] : too_late_) shapes.insert(shape);
  return shapes;
}

bool PassWalk::may_fit_now() const {
  if (freed_point(d_) == begun_) return false;
  for (const auto& [shape, at] : passed_over_) {
    if (at != freed_point(d_, shape)) return true;
  }
  const std::vector<ShapeId> waiting = d_.s.jobs().ready().waiting_shapes();
  return std::any_of(waiting.begin(), waiting.end(), [this](ShapeId shape) {
    must(shape.value < blocked_.size(), "the cache has room for every shape");
    const PassMemory::Blocked& known = blocked_[shape.value];
    return known.serial == d_.s.fleet().shapes().serial(shape) && known.at >= begun_ &&
           known.at != freed_point(d_, shape);
  });
}

bool PassWalk::wait_to_borrow(const state::Job& job, const Placement& placement) {
  if (!d_.s.tree().quota_sums().names_products() ||
      stopped_.to_borrow.contains({job.leaf, job.shape}))
    return false;
  if (d_.s.policy().order != OrderPolicy::kTargetShare) return false;
  const AccountId reach = derive::reach_of(d_.s, job.leaf, derive::amounts_of(d_.s, placement));
  const auto depth = [&](AccountId id) {
    return id ? d_.s.tree().node(id).depth : std::numeric_limits<std::uint32_t>::max();
  };
  if (depth(reach) <= depth(derive::reach_of(d_.s, job))) return false;
  stopped_.to_borrow.emplace(job.leaf, job.shape);
  pass_.line_borrows(job.id, reach);
  return true;
}

bool PassWalk::block_if_stopped(const state::Job& job) {
  if (stopped_.by_promise.contains({job.leaf, job.shape}) && derive::is_fixed(d_.s, job)) {
    pass_.block_job(job.id);
    return true;
  }
  const auto binding = derive::stopped(d_.s, job, Asking::kAmounts);
  if (!binding) return false;
  if (binding->kind == BindingKind::kPromise) {
    block_by_promise(job);
    return true;
  }
  if (binding->kind == BindingKind::kBudget) {
    block_by_budget(*binding, job);
  } else if (binding->of_job_alone()) {
    pass_.block_job(job.id);
  } else if (binding->kind == BindingKind::kMinutes) {
    // A later pass may find fewer GPU-minutes in flight although no GPU became free.
    wait_for_minutes(*binding);
    pass_.block_account(binding->counted, least_size(job));
  } else if (binding->kind == BindingKind::kJobs && least_size(job) > 0) {
    // The rule stops jobs of every size.
    block_by_rule({JobId(), 0, binding->counted, 1});
  } else if (binding->any_product && binding->kind != BindingKind::kLend &&
             binding->kind != BindingKind::kJobs) {
    // The rule lend also binds accounts other than the one that has it.
    block_by_rule({JobId(), 0, binding->counted, binding->need});
  } else {
    block_line_by_rule(job.id);
  }
  return true;
}

void PassWalk::block_by_budget(const Binding& rule, const state::Job& job) {
  must(rule.kind == BindingKind::kBudget, "a budget stops the job");
  if (rule.allows_at != 0) wait_for_minutes(rule);
  stopped_.by_budget.block(pass_, rule, job.id);
}

void BudgetLooks::block(ReadyQueue::Pass& pass, const Binding& rule, JobId job) {
  if (++looks_[{rule.counted, rule.product}] < limits::kMaxBudgetLooks) {
    pass.block_job(job);
  } else if (rule.any_product) {
    pass.block_account(rule.counted, 1);
  } else {
    pass.block_line(job);  // the account's jobs of other products may start
  }
}

MilliGpu PassWalk::least_size(const state::Job& job) const {
  return state::least_milligpu(d_.s.fleet(), job);
}

void PassWalk::block_by_rule(const PassMemory::BlockedByRule& rule) {
  must(bool(rule.account) != bool(rule.line), "a rule stops a job class or an account");
  must(!rule.account || rule.least > 0, "a rule stops jobs of an account that cost something");
  memory_.blocked_by_rule.push_back(rule);
  apply(rule);
}

void PassWalk::apply(const PassMemory::BlockedByRule& rule) {
  if (rule.account) return pass_.block_account(rule.account, rule.least);
  const bool waits = d_.s.jobs().ready().contains(rule.line);
  if (waits && serial_of(rule.line) == rule.serial) pass_.block_line(rule.line);
}

std::vector<ShapeId> PassWalk::unknown_shapes() {
  std::vector<std::pair<JobId, ShapeId>> unknown;
  for (const ShapeId shape : d_.s.jobs().ready().waiting_shapes()) {
    if (!d_.s.clusters().at(d_.s.fleet().cluster_of(shape)).synced ||
        (is_blocked(d_, blocked_, shape) && !reserved_.contains(shape))) {
      pass_.block_shape(shape);
    } else {
      unknown.emplace_back(*d_.s.jobs().ready().oldest(shape), shape);
    }
  }
  if (unknown.size() > limits::kMaxStartsPerPass) {
    const auto end = unknown.begin() + limits::kMaxStartsPerPass;
    std::nth_element(unknown.begin(), end, unknown.end());
    unknown.erase(end, unknown.end());
  }
  std::sort(unknown.begin(), unknown.end());
  std::vector<ShapeId> out;
  for (const auto& [oldest, shape] : unknown) out.push_back(shape);
  must(out.size() <= limits::kMaxStartsPerPass, "no more shapes are asked than could start");
  return out;
}

bool PassWalk::has_place(ShapeId shape) {
  return reserved_.contains(shape) ||
         d_.search.find(FleetView(d_.s.fleet(), reserved_nodes_), shape, JobId());
}

}  // namespace subak::decide

#include "engine/state/allocations.h"

#include <algorithm>
#include <utility>

#include "accounting/amounts.h"
#include "core/must.h"
#include "engine/state/jobs/jobs.h"

namespace subak::state {
namespace {

// True if the pod's slot counts in the tree.
bool counts(const Job& job, const PodSlot& slot) {
  return job.leaf != kUnassigned && slot.milligpu > 0;
}

// What GPUs of a job with this expected end add to the sums of its accounts.
JobSums sums_of(MilliGpu milligpu, TimeMs end_ms) {
  if (end_ms == 0 || end_ms >= kNever) return {};
  return {0, milligpu, GpuTime::of(milligpu, end_ms)};
}

// What the pod holds, for the budgets of its account. `end_ms`: the expected end of its job.
BudgetUse use_of(const Fleet& fleet, const Job& job, const PodSlot& slot, TimeMs end_ms) {
  return {job.leaf, fleet.product_of(slot.node), {slot.milligpu, end_ms}};
}

// The GPUs that all accounts hold and run: the root has the sum.
struct Totals {
  MilliGpu held = 0, running = 0;
  friend bool operator==(const Totals&, const Totals&) = default;
};

Totals totals_of(const AccountTree& tree) {
  const Holdings& all = tree.node(kRootAccount).holdings;
  return {all.held(), all.running()};
}

}  // namespace

std::span<const PodPlace> Allocations::on(NodeId node) const {
  if (node.value >= nodes_.size()) return {};
  return nodes_[node.value].pods;
}

std::span<const Job* const> Allocations::jobs_on(NodeId node) const {
  if (node.value >= nodes_.size()) return {};
  return nodes_[node.value].jobs;
}

const Allocations::BySince& Allocations::open(ClusterId cluster) const {
  static const BySince none;
  const auto it = open_.find(cluster);
  return it == open_.end() ? none : it->second;
}

void Allocations::charged(Job& job, std::uint32_t rank, TimeMs to) {
  Pod& pod = job.pods.at(rank);
  must(pod.holds_slot() && pod.since_ms < to, "rows of a pod follow one another");
  const PodPlace place{job.id, rank};
  if (pod.is_bound()) {
    BySince& open = open_[job.id.cluster()];
    must(open.erase({pod.since_ms, place}) == 1, "what is bound is found by its next row");
    open.insert({to, place});
  }
  pod.since_ms = to;
}

void Allocations::advance_tick(TimeMs now) {
  if (tick_) tick_->advance(tree_, now);
}

void Allocations::take(Job& job, std::uint32_t rank, const PodSlot& slot, TimeMs now) {
  Pod& pod = job.pods.at(rank);
  must(pod.slot == PodSlot(), "a pod takes one slot");
  must(static_cast<bool>(pod.shape), "what a pod takes follows from its shape");
  must(fleet_.cluster_of(slot.node) == job.id.cluster(), "a pod is on a node of its cluster");
  must(slot.milligpu >= 0, "a slot costs something or nothing");
  const Totals before = totals_of(tree_);
  pod.slot = slot;
  pod.since_ms = now;
  pod.seen_ms = 0;
  pod.behind_ms = 0;
  pod.state = PodState::kHeld;
  fleet_.take(pod.shape, pod.shape_rank, slot, job.id, now);
  add_to_node(job, rank, slot.node);
  TimeMs& free_at = nodes_[slot.node.value].free_at;
  free_at = std::max(free_at, job.run().end_ms);
  if (slot.milligpu == 0) return;
  must(job.of_run != nullptr, "a job that holds GPUs has a run");
  JobSums sums = sums_of(slot.milligpu, job.of_run->end_ms);
  if (job.of_run->holding++ == 0) sums.jobs = 1;
  if (!counts(job, slot)) return;
  tree_.add_sums(job.leaf, sums);
  tree_.hold(job.leaf, fleet_.product_of(slot.node), slot.milligpu, now);
  take_from_budgets(tree_, use_of(fleet_, job, slot, job.of_run->end_ms), now);
  note_budget_spending();
  must(totals_of(tree_) == Totals{before.held + slot.milligpu, before.running},
       "the tree holds what was taken");
  advance_tick(now);
  if (tick_) tick_->job_start(job.leaf, slot.milligpu, now);
}

void Allocations::bind(const Job& job, std::uint32_t rank, TimeMs now) {
  const PodSlot& slot = job.pods.at(rank).slot;
  must(job.pods[rank].holds_slot(), "what is bound was held");
  must(!on(slot.node).empty(), "what is bound was taken");
  const Totals before = totals_of(tree_);
  if (slot.milligpu > 0 && keeps_books_) {
    open_[job.id.cluster()].insert({job.pods[rank].since_ms, {job.id, rank}});
  }
  if (!counts(job, slot)) return;
  tree_.bind(job.leaf, fleet_.product_of(slot.node), slot.milligpu, now);
  must(totals_of(tree_) == Totals{before.held - slot.milligpu, before.running + slot.milligpu},
       "the tree runs what was bound");
}

void Allocations::give(Job& job, std::uint32_t rank, TimeMs at, TimeMs now) {
  Pod& pod = job.pods.at(rank);
  must(pod.holds_slot() && at <= now, "a released hold was taken before");
  const NodeId node = pod.slot.node;
  const Totals before = totals_of(tree_);
  fleet_.give(pod.shape, pod.shape_rank, pod.slot, job.id, at);
  remove_from_node({job.id, rank}, node);
  if (nodes_[node.value].free_at == job.run().end_ms) find_free_at(node);
  if (pod.is_bound() && pod.slot.milligpu > 0 && keeps_books_) {
    must(open_[job.id.cluster()].erase({pod.since_ms, {job.id, rank}}) == 1,
         "what is bound is found by its next row");
  }
  JobSums sums = sums_of(pod.slot.milligpu, job.run().end_ms);
  if (pod.slot.milligpu > 0 && --job.of_run->holding == 0) sums.jobs = 1;
  if (counts(job, pod.slot)) {
    const MilliGpu amount = pod.slot.milligpu;
    tree_.add_sums(job.leaf, -sums);
    give_to_budgets(tree_, use_of(fleet_, job, pod.slot, job.run().end_ms), at);
    note_budget_spending();
    tree_.release(job.leaf, fleet_.product_of(node), amount, pod.is_bound(), at);
    must(totals_of(tree_) == Totals{before.held - (pod.is_bound() ? 0 : amount),
                                    before.running - (pod.is_bound() ? amount : 0)},
         "the tree releases the same amount");
    advance_tick(now);
    if (tick_) tick_->job_end(job.leaf, pod.slot.milligpu, job.run().started_ms, at);
  }
  pod.slot = PodSlot();
}

void Allocations::find_free_at(NodeId node) {
  must(node.value < nodes_.size(), "a node with pods is known");
  TimeMs& free_at = nodes_[node.value].free_at;
  free_at = 0;
  for (const Job* const job : jobs_on(node)) free_at = std::max(free_at, job->run().end_ms);
}

void Allocations::add_to_node(const Job& job, std::uint32_t rank, NodeId node) {
  if (nodes_.size() <= node.value) nodes_.resize(node.value + 1);
  Node& here = nodes_[node.value];
  const PodPlace place{job.id, rank};
  const auto at = std::lower_bound(here.pods.begin(), here.pods.end(), place);
  must(at == here.pods.end() || *at != place, "a pod takes one slot");
  here.jobs.insert(here.jobs.begin() + (at - here.pods.begin()), &job);
  here.pods.insert(at, place);
  must(here.jobs.size() == here.pods.size(), "each pod on a node is of a job");
}

void Allocations::remove_from_node(const PodPlace& place, NodeId node) {
  must(node.value < nodes_.size(), "a slot is on its node");
  Node& here = nodes_[node.value];
  const auto at = std::lower_bound(here.pods.begin(), here.pods.end(), place);
  must(at != here.pods.end() && *at == place, "a slot is on its node");
  here.jobs.erase(here.jobs.begin() + (at - here.pods.begin()));
  here.pods.erase(at);
  must(here.jobs.size() == here.pods.size(), "each pod on a node is of a job");
}

void Allocations::end_changed(const Job& job, TimeMs before) {
  NodeId last;
  MilliGpu milligpu = 0;
  for (const Pod& pod : job.pods) {
    if (!pod.holds_slot()) continue;
    milligpu += pod.slot.milligpu;
    if (pod.slot.node == last) continue;
    last = pod.slot.node;
    find_free_at(last);
  }
  const bool has_budgets = !tree_.quota_sums().extra_limits().empty();
  for (std::size_t i = 0; has_budgets && i < job.pods.size(); ++i) {
    const Pod& pod = job.pods[i];
    if (!pod.holds_slot() || !counts(job, pod.slot)) continue;
    move_end_in_budgets(tree_, use_of(fleet_, job, pod.slot, before), job.run().end_ms);
  }
  if (job.leaf == kUnassigned || milligpu == 0) return;
  JobSums change = sums_of(milligpu, job.run().end_ms);
  change += -sums_of(milligpu, before);
  tree_.add_sums(job.leaf, change);
}

void Allocations::move(Job& job, std::uint32_t rank, const PodSlot& to, TimeMs now) {
  const TimeMs since = job.pods.at(rank).since_ms;
  give(job, rank, now, now);
  take(job, rank, to, now);
  job.pods[rank].since_ms = since;
  must(job.pods[rank].slot == to, "who moves holds the new slot");
}

void Allocations::assign(const Job& job, TimeMs now) {
  const Totals before = totals_of(tree_);
  Totals added;
  for (std::uint32_t rank = 0; rank < job.pods.size(); ++rank) {
    const Pod& pod = job.pods[rank];
    if (!pod.holds_slot() || !counts(job, pod.slot)) continue;
    must(pod.since_ms == now, "what it held before is not charged yet");
    tree_.hold(job.leaf, fleet_.product_of(pod.slot.node), pod.slot.milligpu, now);
    take_from_budgets(tree_, use_of(fleet_, job, pod.slot, job.run().end_ms), now);
    note_budget_spending();
    (pod.is_bound() ? added.running : added.held) += pod.slot.milligpu;
    if (pod.is_bound()) bind(job, rank, now);
    advance_tick(now);
    if (tick_) tick_->job_start(job.leaf, pod.slot.milligpu, now);
  }
  if (job.run().holding > 0) {
    JobSums sums = sums_of(added.held + added.running, job.run().end_ms);
    sums.jobs = 1;
    tree_.add_sums(job.leaf, sums);
  }
  must(totals_of(tree_) == Totals{before.held + added.held, before.running + added.running},
       "the tree holds what the job holds");
}

TimeMs Allocations::budget_turn_ms() const {
  if (!budgets_.turn_ms) budgets_.turn_ms = next_budget_turn(tree_);
  return *budgets_.turn_ms;
}

TimeMs Allocations::budget_reach_ms() const {
  if (!budgets_.reach_ms) {
    const TimeMs at = next_budget_reach(tree_);
    budgets_.reach_ms = at >= kEndless ? kEndless : at - at % kMinuteMs + kMinuteMs;
  }
  return *budgets_.reach_ms;
}

void Allocations::set_calendar(BudgetCalendarPtr calendar) {
  subak::set_calendar(tree_, calendar);
  budgets_.calendar = std::move(calendar);
  note_budget_turn();
}

void Allocations::set_books(AccountId account, const Jobs& jobs, TimeMs now) {
  subak::set_books(tree_, account, now, budgets_.calendar, [&](BudgetBook& book) {
    if (tree_.node(account).alloc() == 0) return;
    each_node([&](NodeId node, std::span<const PodPlace> pods) {
      if (!book.counts(fleet_.product_of(node))) return;
      for (const PodPlace& place : pods) {
        const Job& job = jobs.at(place.job);
        const PodSlot& slot = job.pods[place.rank].slot;
        if (!counts(job, slot) || !is_below(tree_, job.leaf, account)) continue;
        book.take({slot.milligpu, job.run().end_ms}, now);
      }
    });
  });
  note_budget_turn();
}

void Allocations::account_moved(AccountId account, AccountId from, const Jobs& jobs, TimeMs now) {
  if (tick_) {
    advance_tick(now);
    tick_->moved(tree_, account, from);
  }
  if (tree_.quota_sums().extra_limits().empty() || tree_.node(account).alloc() == 0) return;
  const AccountId parent = tree_.node(account).parent;
  each_node([&](NodeId, std::span<const PodPlace> pods) {
    for (const PodPlace& place : pods) {
      const Job& job = jobs.at(place.job);
      const PodSlot& slot = job.pods[place.rank].slot;
      if (!counts(job, slot) || !is_below(tree_, job.leaf, account)) continue;
      BudgetUse use = use_of(fleet_, job, slot, job.run().end_ms);
      use.leaf = from;
      give_to_budgets(tree_, use, now);
      use.leaf = parent;
      take_from_budgets(tree_, use, now);
    }
  });
}

void Allocations::relabel(NodeId node, ProductId before, const Jobs& jobs, TimeMs now) {
  const ProductId after = fleet_.product_of(node);
  if (before == after) return;
  const Totals all = totals_of(tree_);
  for (const PodPlace& place : on(node)) {
    const Job& job = jobs.at(place.job);
    const Pod& pod = job.pods[place.rank];
    if (!counts(job, pod.slot)) continue;
    tree_.release(job.leaf, before, pod.slot.milligpu, pod.is_bound(), now);
    tree_.hold(job.leaf, after, pod.slot.milligpu, now);
    const BudgetHold hold{pod.slot.milligpu, job.run().end_ms};
    give_to_budgets(tree_, {job.leaf, before, hold}, now);
    take_from_budgets(tree_, {job.leaf, after, hold}, now);
    note_budget_spending();
    if (pod.is_bound()) bind(job, place.rank, now);
  }
  must(totals_of(tree_) == all, "another name changes no amount");
}

namespace {

// Asserts that the tree has the sums of all jobs that hold GPUs.
void check_sums(const AccountTree& tree, const Jobs& jobs) {
  std::map<AccountId, JobSums> expected;
  for (const auto& [id, job] : jobs.table().all()) {  // any order: sums
    MilliGpu milligpu = 0;
    std::uint32_t holding = 0;
    for (const Pod& pod : job.pods) {
      if (!pod.holds_slot() || pod.slot.milligpu == 0) continue;
      milligpu += pod.slot.milligpu;
      ++holding;
    }
    must(job.run().holding == holding, "a run counts the pods that hold GPUs");
    if (holding == 0 || job.leaf == kUnassigned) continue;
    JobSums sums = sums_of(milligpu, job.run().end_ms);
    sums.jobs = 1;
    for (AccountId up = job.leaf; up; up = tree.node(up).parent) expected[up] += sums;
  }
  for (const AccountId id : tree.preorder()) {
    JobSums sums = tree.node(id).jobs.sums;
    sums.jobs -= tree.node(id).jobs.claiming;
    must(sums == expected[id], "the sums of an account are those of its jobs");
  }
}

// Asserts that each book has the holds of the jobs that it counts.
void check_books(const Fleet& fleet, const AccountTree& tree, const Jobs& jobs) {
  for (const AccountId id : tree.quota_sums().extra_limits()) {
    for (const BudgetBook& book : tree.node(id).jobs.budgets) {
      MilliGpu rate = 0;
      std::map<TimeMs, MilliGpu> ends;
      for (const auto& [job_id, job] : jobs.table().all()) {  // any order: sums
        for (const Pod& pod : job.pods) {
          if (!pod.holds_slot() || !counts(job, pod.slot) || !is_below(tree, job.leaf, id))
            continue;
          if (!book.counts(fleet.product_of(pod.slot.node))) continue;
          rate += pod.slot.milligpu;
          const TimeMs end_ms = job.run().end_ms;
          if (end_ms != 0 && end_ms < kEndless) ends[end_ms] += pod.slot.milligpu;
        }
      }
      must(book.rate() == rate && book.ends() == ends, "a book has the holds of its jobs");
    }
  }
}

}  // namespace

void Allocations::check(const Jobs& jobs) const {
  std::size_t slots = 0, bound = 0, open = 0;
  MilliGpu held = 0, running = 0;
  for (const auto& [id, job] : jobs.table().all()) {  // any order: sums
    for (std::uint32_t rank = 0; rank < job.pods.size(); ++rank) {
      const Pod& pod = job.pods[rank];
      if (!pod.holds_slot()) continue;
      ++slots;
      const auto here = on(pod.slot.node);
      must(std::binary_search(here.begin(), here.end(), PodPlace{id, rank}),
           "a slot is on its node");
      if (job.leaf != kUnassigned) (pod.is_bound() ? running : held) += pod.slot.milligpu;
      if (!pod.is_bound() || pod.slot.milligpu == 0 || !keeps_books_) continue;
      ++bound;
      must(this->open(id.cluster()).contains({pod.since_ms, {id, rank}}),
           "what is bound is found by its next row");
    }
  }
  std::size_t indexed = 0;
  each_node([&](NodeId node, std::span<const PodPlace> pods) {
    indexed += pods.size();
    TimeMs end = 0;
    const auto of_them = jobs_on(node);
    must(of_them.size() == pods.size(), "each pod on a node is of a job");
    for (std::size_t i = 0; i < pods.size(); ++i) {
      must(of_them[i] == jobs.find(pods[i].job), "a pod on a node is of its job");
      end = std::max(end, of_them[i]->run().end_ms);
    }
    must(end == free_at(node), "a node is free when its last hold ends");
  });
  must(indexed == slots, "each slot belongs to one pod");
  for (const auto& [cluster, rows] : open_) open += rows.size();
  must(open == bound, "nothing else is");
  const Totals totals = totals_of(tree_);
  must(totals.held == held + sum_of(tree_.node(kRootAccount).jobs.claimed),
       "the tree holds what the jobs hold and claim");
  must(totals.running == running, "the tree runs what the jobs run");
  check_sums(tree_, jobs);
  check_books(fleet_, tree_, jobs);
}

}  // namespace subak::state

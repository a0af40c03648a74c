// Applies facts about clusters, nodes, accounts, policy and the books.
#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "accounting/edit/account_move.h"
#include "accounting/quota/account_budgets.h"
#include "core/must.h"
#include "engine/state/state.h"

namespace subak {
namespace {

DecayedMeter::State state_of(const fact::MetersSnapshot::Meter& m) {
  DecayedMeter::State s;
  s.a = m.a;
  s.shift = m.shift;
  s.rate = m.rate;
  s.peak_rate = m.peak_rate;
  s.whole_gpu_s = m.whole.gpu_seconds;
  s.whole_rest = m.whole.rest;
  s.since = m.since_ms;
  return s;
}

std::vector<std::pair<ProductId, MilliGpu>> intern(Fleet& fleet, const ProductAmounts& amounts) {
  std::vector<std::pair<ProductId, MilliGpu>> out;
  for (const ProductAmount& a : amounts) {
    out.emplace_back(fleet.intern_product(a.product), a.milligpu);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<ProductId> products_of_budgets(Fleet& fleet, const std::string& text) {
  std::vector<ProductId> out;
  for (const Budget& budget : budgets_of(text)) {
    out.push_back(budget.product.empty() ? kOfAny : fleet.intern_product(budget.product));
  }
  return out;
}

void restore_moves(AccountTree& tree, const fact::AccountSet& f) {
  std::vector<PastMove> moves = f.moves;
  if (moves.empty() && f.moved_ms != 0) moves.push_back({f.moved_ms, f.moved_from});
  AccountMove::restore(tree, f.id, std::move(moves));
}

}  // namespace

void State::on(const fact::ClusterSet& f) {
  claims_.note_outside_event(log_);
  clusters_.apply(f);
  pass_due_.now = true;
}

void State::on(const fact::ClusterRemoved& f) {
  claims_.note_outside_event(log_);
  must(clusters_.at(f.id).reservations.empty(), "a removed cluster has no reservations");
  clusters_.apply(f);
  must(!clusters_.all().contains(f.id), "the cluster that goes is gone");
  pass_due_.now = true;
}

// Moves the deadlines of the cluster's holds, which stood still while it was not synced.
void State::on(const fact::ClusterSynced& f) {
  claims_.note_outside_event(log_);
  const state::Cluster& cluster = clusters_.at(f.id);
  must(cluster.since_ms <= fact_ms(), "a list was lost before it is complete again");
  const bool again = f.synced && !cluster.synced && cluster.since_ms != 0;
  const bool puts_off = again && !log_.restoring();
  if (puts_off) jobs_.put_off(f.id, fact_ms() - cluster.since_ms);
  clusters_.apply(f);
  must(cluster.synced == f.synced, "a cluster is as its fact says");
  if (puts_off && !tree_.quota_sums().extra_limits().empty()) plan_ends();  // jobs that budgets end
  pass_due_.now = true;
}

void State::on(const fact::NodeSet& f) {
  claims_.note_outside_event(log_);
  if (nodes_.size() == 0 && !log_.restoring()) nodes_.begin_bills(now());
  must(clusters_.at(f.cluster).id == f.cluster, "a node is of a cluster that is there");
  must(fleet_.node(f.id) == nullptr || fleet_.cluster_of(f.id) == f.cluster,
       "a node stays in its cluster");
  const ProductId before = fleet_.node(f.id) != nullptr ? fleet_.product_of(f.id) : ProductId();
  must(!f.drained || f.drain_from_ms == 0, "a drain that has begun is not planned");
  must(f.drained || f.drain_from_ms != 0 || f.drain_until_ms == 0, "what ends has begun");
  const TimeMs since_ms = log_.restoring() ? f.since_ms : now();
  nodes_.set(f.cluster, f.spec.name, f.id, since_ms, f.spec.clique_lost_ms, f.spec.gpus_unknown_ms);
  nodes_.set_drain(f.id, {f.drain_from_ms, f.drain_until_ms});
  fleet_.set_node(f.id, f.cluster, f.spec, f.drained, now());
  jobs_.fleet_changed();
  allocations_.relabel(f.id, before, jobs_, now());
  must(nodes_.find(f.cluster, f.spec.name) == f.id, "a node is found by its name");
  pass_due_.now = true;
}

void State::on(const fact::NodeRemoved& f) {
  claims_.note_outside_event(log_);
  const NodeSpec* const spec = fleet_.node(f.id);
  must(spec != nullptr, "the node that goes is there");
  must(allocations_.on(f.id).empty(), "a removed node has no holds");
  nodes_.remove(fleet_.cluster_of(f.id), spec->name);
  if (const auto backoffs = node_backoff_.all().find(f.id); backoffs != node_backoff_.all().end()) {
    for (const fact::NodeBackedOff& backoff : backoffs->second)
      fleet_.end_backoff(f.id, backoff.shape);
  }
  node_backoff_.drop_node(f.id);
  fleet_.remove_node(f.id, now());
  must(fleet_.node(f.id) == nullptr, "the node that goes is gone");
  jobs_.fleet_changed();
  ledger_.drop_node(f.id);
  pass_due_.now = true;
}

// The half-life is part of every meter. If there is usage, MetersSnapshot facts with the new meters
// follow at once.
void State::on(const fact::PolicySet& f) {
  claims_.note_outside_event(log_);
  if (f.policy.half_life_ms != tree_.clock().half_life_ms()) {
    tree_.restart_meters(f.policy.half_life_ms, now());
  }
  const HalfLifeChange& change = f.policy.fair_share.change;
  if (change.seq == 0) tree_.second().reset();
  if (change.seq == seq() && !log_.restoring()) {
    tree_.second().emplace(change.half_life_ms, now(), tree_.nodes());
  }
  policy_ = f.policy;
  clusters_.set_pools(policy_.queue.node_pools);
  fleet_.set_gpu_headroom(policy_.gpu_headroom);
  fleet_.set_domain_rules({policy_.gangs.keep_whole, policy_.gangs.clique_gangs});
  plan_ends();
  std::unique_ptr<UsageTick> tick;
  if (policy_.order == OrderPolicy::kUsageTick) {
    tick = std::make_unique<UsageTick>(policy_.half_life_ms, policy_.tick.ms,
                                       policy_.tick.charge_end, now());
  }
  allocations_.set_tick(std::move(tick));
  pass_due_.now = true;
}

void State::on(const fact::Finalized& f) {
  log_.set_version(f.version);
  remember(f.edit, {now(), JobId(), AccountId(), f.version});
}

void State::on(const fact::AccountSet& f) {
  claims_.note_outside_event(log_);
  must(log_.restoring() || f.revision == next_revision(tree_, f.id),
       "revisions count on one by one");
  const bool fresh = !tree_.exists(f.id) && !log_.restoring();
  const bool limits = tree_.exists(f.id) &&
                      (tree_.node(f.id).spec.time_limits != f.spec.time_limits ||
                       tree_.node(f.id).spec.default_time_limit_ms != f.spec.default_time_limit_ms);
  // A removed account has no books.
  const bool lived = tree_.exists(f.id) && !tree_.node(f.id).removed;
  const bool budgets = f.spec.budgets != (lived ? tree_.node(f.id).spec.budgets : std::string());
  tree_.set(f.id, f.spec, f.revision, now(), intern(fleet_, f.spec.quota),
            intern(fleet_, f.spec.limit),
            {intern(fleet_, parse_borrow(f.spec.borrow, "borrow").value().by_product),
             intern(fleet_, parse_borrow(f.spec.lend, "lend").value().by_product),
             intern(fleet_, parse_user_limits(f.spec.user_limits, "user_limits").value().gpus),
             products_of_budgets(fleet_, f.spec.budgets)},
            f.retroactive ? ShareEdit::kRetroactive : ShareEdit::kFromNowOn);
  if (budgets) allocations_.set_books(f.id, jobs_, now());
  if (fresh) tree_.begin_at_mean(f.id, now());
  // A new user is no edit, because Subak creates users itself.
  if (!log_.restoring() && (!fresh || !f.spec.user)) tree_.set_revision(seq());
  must(tree_.exists(f.id) && tree_.node(f.id).revision == f.revision, "an edit has its revision");
  if (limits || budgets) plan_ends();
  if (log_.restoring()) restore_moves(tree_, f);
  remember(f.edit, {now(), JobId(), f.id, f.revision});
  pass_due_.now = true;
}

void State::on(const fact::AccountMoved& f) {
  must(!log_.restoring(), "a checkpoint has the paths of its accounts");
  claims_.note_outside_event(log_);
  if (f.from) {
    must(tree_.node(f.id).parent == f.from, "an account moves from its parent");
    AccountMove::make(tree_, f.id, f.spec.path, now());
    if (tree_.node(f.id).parent != f.from) {
      jobs_.account_moved(f.id, f.from);
      allocations_.account_moved(f.id, f.from, jobs_, now());
    }
    allocations_.note_budget_spending();
    plan_ends();
  }
  AccountMove::set_revision(tree_, f.id, f.revision);
  tree_.set_revision(seq());
  must(tree_.node(f.id).spec == f.spec, "an account moves with its settings");
  if (f.edit.following == 0) {
    remember(f.edit, {now(), JobId(), f.id, static_cast<std::int64_t>(seq())});
  }
  pass_due_.now = true;
}

void State::on(const fact::AccountDeleted& f) {
  if (log_.restoring()) {
    tree_.restore_removed(f.id, f.parent, f.spec, f.revision);
    return AccountMove::restore(tree_, f.id, f.moves);
  }
  claims_.note_outside_event(log_);
  must(jobs_.ready().queued_jobs(f.id) == 0, "nothing of an account that goes waits");
  tree_.remove(f.id, now());
  allocations_.note_budget_turn();
  tree_.set_revision(seq());
  must(tree_.node(f.id).removed, "an account that went is kept as such");
  remember(f.edit, {now(), JobId(), f.id, 0});
  pass_due_.now = true;
}

void State::on(const fact::Charged& f) {
  if (f.row.corrects != 0) {
    if (f.row.payer < kUnassigned) {
      const ProductId product = fleet_.products().find(f.row.product);
      refund_to_budgets(tree_,
                        {f.row.payer, product, -f.row.milligpu, {f.row.from_ms, f.row.to_ms}});
      allocations_.note_budget_spending();
    }
    return ledger_.add(f.row);
  }
  const std::uint32_t rank = f.row.allocation.rank;
  state::Job& job = jobs_.writable(f.row.allocation.job);
  must(job.pods.at(rank).since_ms == f.row.from_ms && f.row.to_ms <= now(),
       "rows of a pod follow one another");
  must(f.row.milligpu == job.pods[rank].slot.milligpu, "a row is of what the pod holds");
  must(f.row.node == job.pods[rank].slot.node, "a row is of where the pod is");
  must(f.row.holder == job.leaf, "a row is held by whose job it is");
  ledger_.add(f.row);
  allocations_.charged(job, rank, f.row.to_ms);
  must(job.pods[rank].since_ms == f.row.to_ms, "a pod is charged up to its row");
  leap_.charged(seq(), f.row);
  if (f.row.payer != job.leaf && job.leaf != kUnassigned) {
    const ProductId product = fleet_.product_of(f.row.node);
    refund_to_budgets(tree_, {job.leaf, product, f.row.milligpu, {f.row.from_ms, f.row.to_ms}});
    allocations_.note_budget_spending();
  }
}

void State::on(const fact::BudgetPeriodSet& f) {
  const PeriodSpan span{f.from_ms, f.to_ms};
  if (log_.restoring()) {
    tree_.budgets(f.account).at(f.index).restore(
        {span, f.until_ms, f.base.get(), f.since_ms, f.reached});
  } else {
    make_turn(tree_, {{f.kind, f.fixed_ms}, span, f.until_ms});
    // With a default time limit, no planned end depends on a period.
    if (policy_.default_time_limit_ms == 0) plan_ends();
    pass_due_.now = true;
  }
  allocations_.note_budget_turn();
}

void State::on(const fact::CivilEndsSet& f) {
  const bool utc = f.ends.zone.empty();
  allocations_.set_calendar(utc ? nullptr : std::make_shared<const BudgetCalendar>(f.ends));
  pass_due_.now = true;
}

void State::on(const fact::BudgetReached& f) {
  BudgetBook& book = tree_.budgets(f.account).at(f.index);
  must(f.percent > book.reached(), "a budget reaches one part after another");
  book.set_reached(f.percent);
  allocations_.note_budget_spending();
}

void State::on(const fact::Reserved& f) {
  must(jobs_.at(f.job).state == JobState::kQueued, "a job with reserved nodes is queued");
  clusters_.apply(f);
  must((clusters_.reservation_of(f.job) != nullptr) == !f.nodes.empty(),
       "a job has nodes reserved as its fact says");
  reserve_nodes();
  pass_due_.now = true;
}

void State::on(const fact::Claimed& f) {
  const state::Job& job = jobs_.at(f.job);
  must(job.state == JobState::kQueued, "a claimant is queued");
  if (f.slots.empty()) {
    must(claims_.of(f.job) != nullptr, "a claim that ends was made");
    claims_.end(f.job);
  } else {
    std::set<JobId> ended;
    for (const fact::Claimed::Victim& victim : f.victims) {
      if (state::still_there(jobs_, victim) == nullptr) ended.insert(victim.job);
    }
    claims_.make(f, job, std::move(ended));
  }
  pass_due_.now = true;
}

void State::reserve_nodes() {
  reserved_nodes_.clear();
  for (const auto& [id, cluster] : clusters_.all()) {
    for (const state::Reservation& r : cluster.reservations) {
      reserved_nodes_.reserve(r.nodes, r.job, state::uses_compute_domain(fleet_, jobs_.at(r.job)));
    }
  }
}

void State::on(const fact::NodeBilled& f) {
  must(f.as_of_ms <= now(), "what is billed has been");
  must(log_.restoring() || fleet_.node(f.node) != nullptr, "a node that is billed is there");
  const NodeBooks books{f.installed.get(), f.allocated.get(), f.idle.get(),
                        f.stranded.get(),  f.unusable.get(),  f.overcommitted.get()};
  must(books.installed + books.overcommitted ==
           books.allocated + books.idle + books.stranded + books.unusable,
       "what a node has is allocated, idle, stranded or unusable");
  if (log_.restoring()) fleet_.restore_books(f.node, books, f.as_of_ms);
  nodes_.billed(f.as_of_ms);
}

void State::on(const fact::NodeBackedOff& f) {
  must(fleet_.node(f.node) != nullptr, "a node in backoff exists");
  must(!f.barred || log_.restoring() || f.until_ms >= now(), "a node backoff ends after it begins");
  node_backoff_.apply(f);
  if (!f.job && !f.any_pod) {
    f.barred ? fleet_.back_off(f.node, f.shape) : fleet_.end_backoff(f.node, f.shape);
    must(fleet_.is_backed_off(f.node, f.shape) == f.barred, "the fleet knows its node backoffs");
  }
  pass_due_.now = true;
}

void State::on(const fact::NodeLoad& f) {
  claims_.note_outside_event(log_);
  must(fleet_.node(f.node) != nullptr, "what takes of a node is on one that is there");
  must(log_.restoring() || !(fleet_.others(f.node) == f.use), "a sum is said when it is another");
  fleet_.set_others(f.node, f.use);
  pass_due_.now = true;
}

void State::on(const fact::ClockAccepted& f) {
  log_.accept_clock(f.after_ms);
  remember(f.edit, {now(), JobId(), AccountId(), f.after_ms});
}

void State::on(const fact::MetersSnapshot& f) {
  must(!tree_.second(), "meters are not replaced while second ones run beside them");
  tree_.restore_meters(f.account, {state_of(f.usage), state_of(f.surplus), state_of(f.adjustment),
                                   f.usage_total.get(), f.usage_as_of_ms});
}

void State::on(const fact::LedgerSnapshot& f) {
  must(log_.restoring(), "sums are restored from a checkpoint alone");
  if (f.rows != 0) ledger_.restore_rows(f.rows);
  if (f.node) {
    ledger_.restore_node(f.node, f.amount.get());
  } else {
    ledger_.restore_sum({f.payer, f.holder, f.state, f.product}, f.amount.get());
  }
}

void State::on(const fact::RequestSnapshot& f) {
  requests_.add({f.actor, f.method, f.request_id},
                {f.at_ms, f.job, f.account, f.revision, f.content});
}

void State::on(const fact::CountersSnapshot& f) {
  must(log_.restoring(), "counters are restored from a checkpoint alone");
  if (f.cluster) {
    clusters_.apply(f);
  } else {
    nodes_.restore_last(NodeId(f.next_node - 1));
    claims_.restore_outside_event(f.outside_event_ms);
    tree_.set_revision(f.account_edit);
  }
}

// Facts from before ids were bound to callers have no content, and their checkpoints have no actor.
// No call matches these ids.
void State::remember(const EditStamp& edit, RememberedRequest request) {
  if (edit.request_id.empty()) return;
  request.content = edit.content;
  const std::string_view actor = edit.content == 0 ? std::string_view() : edit.actor;
  requests_.add({actor, edit.method, edit.request_id}, request);
}

}  // namespace subak

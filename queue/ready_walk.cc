#include "queue/ready_walk.h"

#include <algorithm>
#include <cassert>

#include "core/must.h"

namespace subak::ready {

void Walk::begin(Index& index, const PassSetup& setup) {
  index_ = &index;
  index.sync(*setup.tree);
  const std::size_t accounts = setup.tree->next_id().value;
  must(accounts > kRootAccount.value && index.knows(kRootAccount), "the index knows the tree");
  figures_.begin(index, setup);
  blocks_.begin(index, accounts);
  memos_.begin(index, figures_, blocks_, accounts);
  standings_.begin(index, figures_, memos_, accounts);
  candidates_.begin(index, figures_, blocks_, memos_, accounts);
  if (setup.policy == OrderPolicy::kFifo) fifo_.begin(index);
}

std::uint32_t Walk::next() {
  if (figures_.setup().policy == OrderPolicy::kFifo) {
    return fifo_.next([this](std::uint32_t slot) { return !blocks_.allows(slot); },
                      [this](std::uint32_t kind) { return !blocks_.kind_open(kind, kNoLimit); });
  }
  const NodeSummary& root = index_->summary(kRootAccount);
  if (root.jobs == 0 || root.held) return kNoSlot;
  return next_of(kRootAccount, blocks_.at_root()).slot;
}

// Returns the next job of the account or of the accounts below it. `scope` is the account's scope.
NextJob Walk::next_of(AccountId id, Scope scope) {
  if (index_->is_leaf(id)) return own_next(id, scope);
  if (const NextJob* known = memos_.find(id)) return *known;
  if (!candidates_.visited(id)) {
    const NextJob again = from_standing(id, scope);
    if (again.slot != kNoSlot) return again;
  }
  return compare_children(id, scope);
}

// Returns the next job of `child`, or of the account's own jobs if `child` is `id`. `scope` is the
// scope of the account `id`.
NextJob Walk::next_of_child(AccountId id, AccountId child, Scope scope) {
  return child == id ? own_next(id, scope) : next_of(child, blocks_.below(scope, child));
}

// Returns the next job among the account's own jobs. The order of these jobs does not depend on
// time, so the result has no end of validity.
NextJob Walk::own_next(AccountId id, Scope scope) {
  const NodeSummary& summary = index_->summary(id);
  if (blocks_.none() && index_->is_leaf(id)) {  // the usual case; the summary has the cost
    must(!index_->node(id).lines.empty(), "an account that is asked has a job");
    return {index_->node(id).lines.front().head, summary.own_quota, summary.least_next, kForever};
  }
  const OpenJob first = blocks_.first_open(id, scope);
  NextJob next{first.slot, summary.own_quota, first.cost, kForever};
  if (first.slot != kNoSlot) next.within_from_depth = blocks_.borrows_above(first.slot);
  return next;
}

// Returns the next job according to the cached figures of the children. Returns no job if the walk
// must compute the account in full.
NextJob Walk::from_standing(AccountId id, Scope scope) {
  Standings::Contest contest;
  if (!standings_.open(id, contest)) return {};
  for (;;) {
    if (!standings_.find_first(contest)) return {};
    const AccountId first = standings_.unknown_first(contest);
    if (!first || standings_.answer(contest, next_of_child(id, first, scope))) {
      return standings_.close(contest);
    }
  }
}

NextJob Walk::compare_children(AccountId id, Scope scope) {
  Contenders& node = candidates_.refresh(id, scope);
  if (node.next() != nullptr) return *node.next();
  NextJob best;
  if (!node.children().empty()) {
    SiblingOrder& order = candidates_.order(id, node);
    for (bool settled = false; !settled;) {
      const std::size_t at = order.first();
      const AccountId winner = order[at].id;
      best = next_of_child(id, winner, scope);
      best.within_quota = within_quota(id, winner, best);
      settled = node.settle(at, best, best.within_quota);
      if (settled) remember(id, node, best, at);
    }
  }
  node.found(best);
  return best;
}

// Sets how long the result is valid, and stores the result in the memos if later passes may use it.
// `first` is the index of the child that has the next job.
void Walk::remember(AccountId id, Contenders& node, NextJob& next, std::size_t first) {
  const TimeMs now = figures_.setup().now;
  next.until = now;
  if (!node.all_compared() || !memos_.usable()) return;
  const TimeMs until = node.stands_until(id, first, figures_);
  if (until < now) return;
  next.until = until;
  memos_.keep(id, next);
  standings_.keep(id, node.children(), candidates_.order(id, node)[first].id);
}

// True if the child's next job is within quota at every level below the account `id`. An account's
// own quota also covers the accounts below it that have no quota. A quota that is only the sum of
// the children's quotas does not.
bool Walk::within_quota(AccountId id, AccountId child, const NextJob& next) const {
  if (figures_.depth(id) < next.within_from_depth) return false;
  if (child == id || index_->summary(child).quota == 0) return index_->summary(id).own_quota;
  must(next.slot != kNoSlot, "only a job can be within quota");
  return next.within_quota && figures_.covers(child, next.slot);
}

std::vector<ReadyQueue::Level> Walk::rank(AccountId leaf) {
  std::vector<ReadyQueue::Level> levels;
  if (figures_.setup().policy == OrderPolicy::kFifo) return levels;
  std::vector<AccountId> path;
  for (AccountId id = leaf; id; id = index_->summary(id).parent) path.push_back(id);
  must(!path.empty() && path.back() == kRootAccount, "every account is below the root");
  Scope scope = blocks_.at_root();
  for (std::size_t at = path.size(); at-- > 0;) {
    if (index_->is_leaf(path[at])) break;
    levels.push_back(level_at(path[at], scope));
    if (at > 0) scope = blocks_.below(scope, path[at - 1]);
  }
  return levels;
}

ReadyQueue::Level Walk::level_at(AccountId id, Scope scope) {
  Contenders& node = candidates_.refresh(id, scope);
  ReadyQueue::Level level{id, {}};
  if (node.children().empty()) return level;
  std::vector<Sibling> siblings = candidates_.order(id, node).all();
  for (Sibling& sibling : siblings) {
    const NextJob next = next_of_child(id, sibling.id, scope);
    must(next.slot != kNoSlot, "who takes part has a next job");
    sibling.next = next.cost;
    sibling.within_quota = sibling.within_quota && within_quota(id, sibling.id, next);
  }
  const PassSetup& setup = figures_.setup();
  std::vector<OrderKey> keys(siblings.size());
  order_keys(setup.policy, *setup.rule, siblings, keys);
  const std::vector<double> target = targets(*setup.rule, siblings);
  std::vector<std::size_t> order(siblings.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
  for (const std::size_t i : order) level.compared.push_back({siblings[i], target[i]});
  return level;
}

void Walk::started(AccountId leaf) {
  if (figures_.setup().policy != OrderPolicy::kFifo) candidates_.touch_path(leaf);
}

void Walk::block_slot(std::uint32_t slot) {
  if (blocks_.block_job(slot)) candidates_.touch_path(index_->jobs()[slot].leaf);
}

void Walk::block_job(JobId id) {
  const std::uint32_t slot = index_->jobs().find(id);
  if (slot != kNoSlot) block_slot(slot);
}

void Walk::block_line(JobId id) {
  const std::uint32_t slot = index_->jobs().find(id);
  if (slot == kNoSlot) return;
  blocks_.block_line(slot);
  candidates_.touch_path(index_->jobs()[slot].leaf);
}

void Walk::line_borrows(JobId id, AccountId reach) {
  const std::uint32_t slot = index_->jobs().find(id);
  must(slot != kNoSlot, "a job that would borrow waits");
  blocks_.line_borrows(slot, reach ? figures_.depth(reach) : kNoDepth);
  candidates_.touch_path(index_->jobs()[slot].leaf);
}

void Walk::block_account(AccountId id, MilliGpu milligpu) {
  if (index_->summary(id).jobs == 0) return;
  if (blocks_.block_account(id, milligpu)) candidates_.touch_path(id);
}

void Walk::take(std::uint32_t slot) {
  figures_.take(slot);
  block_slot(slot);
}

}  // namespace subak::ready

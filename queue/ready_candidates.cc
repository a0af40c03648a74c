#include "queue/ready_candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/must.h"

namespace subak::ready {

void Contenders::clear() {
  children_.clear();
  order_.clear();
  touched_.clear();
  seen_ = 0;
  next_known_ = expanded_ = unranked_ = fresh_ = false;
}

void Contenders::found(const NextJob& next) {
  must((next.slot == kNoSlot) == children_.empty(), "a node with startable demand has a next job");
  next_ = next;
  next_known_ = true;
}

bool Contenders::settle(std::size_t at, const NextJob& next, bool within_quota) {
  Child* const first = child(order_[at].id);
  must(first != nullptr && next.slot != kNoSlot, "who takes part has a next job");
  first->stands_until = next.until;
  if (order_.settle(at, next.cost, within_quota)) return true;
  first->next = next.cost;
  return false;
}

bool Contenders::all_compared() { return std::exchange(fresh_, false) || !order_.has_heap(); }

// Between changes the surplus v_i of child i grows at a rate r_i and halves every h. Let V and R be
// the sums of all v_i and r_i, and d_i = |r_i V - v_i R| / V^2. All surpluses decay alike, so in a
// time t <= h / 8 the part v_i / V moves by at most 1.05 t d_i: the integral of the decay's inverse
// is at most 1.05 t. A target moves by at most `gain` times as much. Let a be the cost of the first
// child and T its target, and let b and U be those of another child. The keys are a / T and b / U.
// The first child stays first while 1.05 t gain (d_a b + d_b a) < b T - a U. The result leaves a
// hundredth of that time unused.
TimeMs Contenders::stands_until(AccountId id, std::size_t first, const Figures& figures) {
  must(first < order_.size(), "the first takes part");
  const PassSetup& setup = figures.setup();
  TimeMs until = kForever;
  for (const Child& child : children_) until = std::min(until, child.stands_until);
  if (order_.size() == 1) return until;
  const OrderKey& key = order_.key(first);
  const auto cost = [&](std::size_t i) {
    const Sibling& s = order_[i];
    return static_cast<double>(s.alloc) + static_cast<double>(s.next) / 2;
  };
  const auto rate = [&](std::size_t i) {
    const Sibling& s = order_[i];
    return static_cast<double>(s.id == id ? s.alloc : setup.tree->node(s.id).meters.surplus_rate());
  };
  // True if the child's key stays the same: the child has no surplus and gains none.
  const auto rests = [&](std::size_t i) { return order_[i].surplus == 0 && rate(i) == 0; };
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const OrderKey& other = order_.key(i);
    const bool tie = i != first && other.band == key.band && other.first == key.first;
    if (tie && !(rests(first) && rests(i))) return setup.now - 1;
  }
  if (key.band != 1) return until;  // the key does not depend on time
  double surplus = 0, rates = 0;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const Sibling& s = order_[i];
    if (s.shares <= 0) continue;
    if (s.surplus == 0 && rate(i) != 0) return setup.now;  // its surplus may stay at 0 for a while
    surplus += s.surplus;
    rates += rate(i);
  }
  const double mine = cost(first);
  if (surplus == 0 || mine == 0) return until;
  const auto drift = [&](std::size_t i) {
    return std::abs(rate(i) / surplus - order_[i].surplus / surplus * (rates / surplus));
  };
  const double target = order_.target(first), own_drift = drift(first);
  double ms = static_cast<double>(kDayMs);
  for (std::size_t i = 0; i < order_.size(); ++i) {
    if (i == first || order_.key(i).band != 1) continue;
    const double theirs = cost(i);
    const double room = theirs * target - mine * order_.target(i);
    const double speed = 1.05 * setup.rule->gain * (own_drift * theirs + drift(i) * mine);
    if (room < ms * speed) ms = room / speed;
  }
  const DurationMs half_life = setup.tree->clock().half_life_ms();
  if (half_life != 0) ms = std::min(ms, static_cast<double>(half_life) / 8);
  return std::min(until, setup.now + static_cast<TimeMs>(0.99 * ms));
}

Child* Contenders::child(AccountId id) {
  const auto it = std::lower_bound(children_.begin(), children_.end(), id,
                                   [](const Child& c, AccountId of) { return c.id < of; });
  return it == children_.end() || it->id != id ? nullptr : &*it;
}

void Candidates::begin(const Index& index, const Figures& figures, Blocks& blocks,
                       const Memos& memos, std::size_t accounts) {
  index_ = &index;
  figures_ = &figures;
  blocks_ = &blocks;
  memos_ = &memos;
  nodes_.begin(accounts);
}

Contenders& Candidates::refresh(AccountId id, Scope scope) {
  Contenders& node = nodes_.visit(id);
  if (!node.expanded_) {
    expand(id, node, scope);
  } else if (node.seen_ < scope.version) {
    recheck_all(id, node, scope);
  } else if (!node.touched_.empty()) {
    recheck_touched(id, node, scope);
  } else {
    return node;
  }
  node.seen_ = scope.version;
  node.touched_.clear();
  node.next_known_ = false;
  return node;
}

void Candidates::expand(AccountId id, Contenders& node, Scope scope) {
  node.expanded_ = node.unranked_ = node.fresh_ = true;
  prefetch_children(id);
  if (index_->summary(id).own_jobs != 0) add_child(node, id, id, true, scope);
  for (const AccountId child : index_->children(id)) {
    const NodeSummary& summary = index_->summary(child);
    if (summary.jobs != 0) add_child(node, child, id, summary.user, scope);
  }
  // The list is sorted by id. An account that others were moved to may have a higher id than they.
  auto& list = node.children_;
  if (list.size() > 1 && list[0].id == id && list[1].id < id) {
    const auto place =
        std::find_if(list.begin() + 1, list.end(), [id](const Child& c) { return id < c.id; });
    std::rotate(list.begin(), list.begin() + 1, place);
  }
  if (node.children_.size() == 1) return;
  for (Child& child : node.children_) {
    child.value = child.id == id ? figures_->own_value(id) : figures_->value(child.id);
  }
}

// Prefetches the cache lines of all children at once, because their accounts are spread over
// megabytes.
void Candidates::prefetch_children(AccountId id) const {
  for (const AccountId child : index_->children(id)) {
    if (index_->summary(child).jobs == 0) continue;
    subak::prefetch(*figures_->setup().tree, child);
    memos_->prefetch(child);
  }
}

void Candidates::add_child(Contenders& node, AccountId child_id, AccountId parent, bool by_class,
                           Scope scope) {
  Child child{.id = child_id, .by_class = by_class};
  if (!live(child, parent, scope)) return;
  update_class(child, parent, scope);
  node.children_.push_back(child);
}

void Candidates::recheck_all(AccountId id, Contenders& node, Scope scope) {
  bool changed = !node.touched_.empty();
  const auto gone = [&](Child& child) {
    const MilliGpu next = child.next;
    if (!live(child, id, scope)) return true;
    if (child.next != next) changed = true;
    if (update_class(child, id, scope)) changed = true;
    if (child.id != id && index_->summary(child.id).quota != 0) changed = true;
    return false;
  };
  changed |= std::erase_if(node.children_, gone) != 0;
  node.unranked_ |= changed;
}

void Candidates::recheck_touched(AccountId id, Contenders& node, Scope scope) {
  for (const AccountId touched : node.touched_) {
    Child* const child = node.child(touched);
    if (child == nullptr) continue;
    if (!live(*child, id, scope)) {
      node.children_.erase(node.children_.begin() + (child - node.children_.data()));
      node.unranked_ = true;
    } else if (update_class(*child, id, scope)) {
      node.unranked_ = true;
    } else if (!node.unranked_) {
      const std::size_t at = node.order_.find(touched);
      if (at == node.order_.size()) continue;
      const MilliGpu alloc = touched == id ? figures_->own_alloc(id) : figures_->alloc(touched);
      const bool within = may_be_within(node.order_[at].quota, alloc);
      node.order_.change(at, alloc, child->next, within);
    }
  }
}

// True if the child has a job that could start. Sets `next` to the cost of the child's next job:
// exact for a leaf, else a lower bound. `scope` is the scope of the parent.
bool Candidates::live(Child& child, AccountId parent, Scope scope) {
  child.stands_until = kForever;
  if (child.id == parent) return live_by_own_jobs(child, scope);
  const NodeSummary& summary = index_->summary(child.id);
  if (summary.held || summary.jobs == 0) return false;
  child.next = summary.least_next;
  const bool leaf = index_->is_leaf(child.id);
  if (blocks_->none() && !summary.held_below) {
    const NextJob* const known = leaf ? nullptr : memos_->find(child.id);
    if (known != nullptr) {
      child.next = known->cost;
      child.stands_until = known->until;
    }
    return true;
  }
  const Scope inner = blocks_->below(scope, child.id);
  if (leaf) {
    if (blocks_->at_jobs_of(child.id)) return live_by_own_jobs(child, inner);
  } else if (summary.held_below || blocks_->below_or_at(child.id)) {
    return !refresh(child.id, inner).children_.empty();
  }
  const TreeNode& node = index_->node(child.id);
  if (!blocks_->find_witness(node, child.witness, inner.limit)) return false;
  if (leaf) {
    must(child.witness < node.lines.size(), "the witness is one of the job classes");
    child.next = index_->cost(node.lines[child.witness].kind).milligpu;
  } else if (node.lines.empty()) {
    must(child.witness < node.below.size(), "the witness is one of the job classes below");
    child.next = node.below[child.witness].milligpu;
  }
  return true;
}

// Does what live() does, for the jobs of the account `child.id` itself. `scope` is the scope of
// that account.
bool Candidates::live_by_own_jobs(Child& child, Scope scope) {
  const OpenJob first = blocks_->first_open(child.id, scope);
  if (first.slot == kNoSlot) return false;
  must(first.cost < scope.limit, "an open job costs less than the limit");
  child.next = first.cost;
  return true;
}

// Updates the priority of the child's next job. Returns true if it changed.
bool Candidates::update_class(Child& child, AccountId parent, Scope scope) {
  if (!child.by_class) return false;
  const std::int32_t was = child.priority;
  if (blocks_->none()) {
    child.priority = index_->summary(child.id).priority;
    return child.priority != was;
  }
  const Scope own = child.id == parent ? scope : blocks_->below(scope, child.id);
  const OpenJob first = blocks_->first_open(child.id, own);
  must(first.slot != kNoSlot, "who has startable demand has a first job");
  child.priority = index_->jobs()[first.slot].priority;
  return child.priority != was;
}

// A quick test. The exact test, within_quota(), needs the next job and runs only for the first
// child.
bool Candidates::may_be_within(MilliGpu quota, MilliGpu alloc) const {
  return quota > 0 && alloc <= quota && figures_->setup().policy == OrderPolicy::kTargetShare;
}

SiblingOrder& Candidates::order(AccountId id, Contenders& node) {
  must(node.expanded_ && !node.children_.empty(), "only children are ordered");
  if (!std::exchange(node.unranked_, false)) return node.order_;
  std::int32_t top = std::numeric_limits<std::int32_t>::min();
  for (const Child& child : node.children_) {
    if (child.by_class) top = std::max(top, child.priority);
  }
  node.order_.clear();
  for (const Child& child : node.children_) {
    if (child.by_class && child.priority != top) continue;
    const bool own = child.id == id;
    const NodeSummary& summary = index_->summary(child.id);
    // The code fills the sibling in place, because a copy would wait for each of these stores.
    Sibling& sibling = node.order_.add();
    sibling.id = child.id;
    sibling.shares = own ? 1 : summary.shares;
    sibling.alloc = own ? figures_->own_alloc(id) : figures_->alloc(child.id);
    sibling.next = child.next;
    sibling.quota = own ? 0 : summary.quota;
    sibling.within_quota = may_be_within(sibling.quota, sibling.alloc);
    sibling.surplus = sibling.usage = child.value;
  }
  node.order_.rank(figures_->setup());
  return node.order_;
}

void Candidates::touch_path(AccountId leaf) {
  AccountId child = leaf;  // its own jobs
  for (AccountId id = leaf; id; id = index_->summary(id).parent) {
    if (Contenders* const node = nodes_.find(id)) {
      node->next_known_ = false;
      const bool noted = !node->touched_.empty() && node->touched_.back() == child;
      if (node->expanded_ && !noted) node->touched_.push_back(child);
    }
    child = id;
  }
}

}  // namespace subak::ready

// Children, their keys, and the choice among them.
#include <algorithm>
#include <cassert>
#include <cstddef>

#include "accounting/entitlement.h"
#include "queue/ready_walk.h"

namespace subak::ready {
std::uint32_t Walk::best(AccountId id, Scope scope) {
  if (index_->is_leaf(id)) return first_open(id, scope);
  if (const Memo* known = memo(id)) return known->best;
  const std::uint32_t again = marked(id) ? kNoSlot : ask_again(id, scope);
  if (again != kNoSlot) return again;
  refresh(id, scope);
  Node& node = marked_node(id);
  if (node.best_known) return node.best;
  node.best_known = true;
  node.best = kNoSlot;
  if (node.children.empty()) return kNoSlot;
  if (node.rebuild) rebuild(id);
  for (;;) {
    const std::size_t at = first_of(node);
    const AccountId winner = node.siblings[at].id;
    node.best = next_of(id, winner, scope);
    assert(node.best != kNoSlot);
    node.best_within = next_within(id, winner, node.best);
    child_of(node, winner)->stands_until = answer_stands_until(id, winner);
    if (!settle(id, at)) continue;
    remember(id, at);
    return node.best;
  }
}

// Returns the next job of a child, or of the node's own jobs.
std::uint32_t Walk::next_of(AccountId id, AccountId child, Scope scope) {
  return child == id ? first_open(id, scope) : best(child, below(scope, child));
}

// True if that job is within quota at every level below. A quota covers everything below it that
// has no quota of its own; a sum of quotas does not.
bool Walk::next_within(AccountId id, AccountId child, std::uint32_t slot) const {
  if (child == id || index_->summary(child).quota == 0) return index_->summary(id).own_quota;
  return covers(child, slot) && best_within(child);
}

std::vector<ReadyQueue::Level> Walk::rank(AccountId leaf) {
  std::vector<ReadyQueue::Level> levels;
  if (setup_.policy == OrderPolicy::kFifo) return levels;
  std::vector<AccountId> path;
  for (AccountId id = leaf; id; id = index_->summary(id).parent) path.push_back(id);
  Scope scope = below({kNoLimit, shape_version_}, kRootAccount);
  for (std::size_t at = path.size(); at-- > 0;) {
    if (index_->is_leaf(path[at])) break;
    levels.push_back(compare(path[at], scope));
    if (at > 0) scope = below(scope, path[at - 1]);
  }
  return levels;
}

ReadyQueue::Level Walk::compare(AccountId id, Scope scope) {
  refresh(id, scope);
  Node& node = marked_node(id);
  ReadyQueue::Level level{id, {}};
  if (node.children.empty()) return level;
  if (node.rebuild) rebuild(id);
  std::vector<Sibling> siblings = node.siblings;
  for (Sibling& sibling : siblings) {
    const std::uint32_t next = next_of(id, sibling.id, scope);
    sibling.next = cost_of(next);
    sibling.within_quota = sibling.within_quota && next_within(id, sibling.id, next);
  }
  std::vector<OrderKey> keys(siblings.size());
  order_keys(setup_.policy, *setup_.rule, siblings, keys);
  const std::vector<double> target = targets(*setup_.rule, siblings);
  std::vector<std::size_t> order(siblings.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
  for (const std::size_t i : order) level.compared.push_back({siblings[i], target[i]});
  return level;
}

// Computes the next job of the child that is first so far. Returns true if its key was right; else
// computes a new key, which is never better.
bool Walk::settle(AccountId id, std::size_t at) {
  Node& node = marked_node(id);
  Sibling& first = node.siblings[at];
  const MilliGpu next = node.best_cost = best_cost(id, first);
  if (node.siblings.size() == 1 || setup_.policy != OrderPolicy::kTargetShare) return true;
  if (first.within_quota ? node.best_within : next == first.next) return true;
  assert(next >= first.next);
  first.within_quota = false;
  first.next = next;
  child_of(node, first.id)->next = next;
  compute_key(node, at);
  return false;
}

// Returns nullptr if the child is not live.
Walk::Child* Walk::child_of(Node& node, AccountId id) {
  const auto it = std::lower_bound(node.children.begin(), node.children.end(), id,
                                   [](const Child& c, AccountId of) { return c.id < of; });
  return it == node.children.end() || it->id != id ? nullptr : &*it;
}

// True if the node's next job is within quota at every level below.
bool Walk::best_within(AccountId id) const {
  if (index_->is_leaf(id)) return index_->summary(id).own_quota;
  if (const Memo* known = memo(id)) return known->best_within;
  return marked_node(id).best_within;
}

// Returns the cost of a child's next job, already computed, without reading the job.
MilliGpu Walk::best_cost(AccountId id, const Sibling& child) const {
  return child.id == id || index_->is_leaf(child.id) ? child.next : known_cost(child.id);
}

// The same for an inner node that computed its next job just now.
MilliGpu Walk::known_cost(AccountId id) const {
  if (const Memo* known = memo(id)) return known->best_cost;
  return marked_node(id).best_cost;
}

// Updates the children after blocks and changes.
void Walk::refresh(AccountId id, Scope scope) {
  Node& node = mark(id);
  if (!node.expanded) {
    expand(id, scope);
  } else if (node.seen < scope.version) {
    recheck_all(id, scope);
  } else if (!node.touched.empty()) {
    recheck_touched(id, scope);
  } else {
    return;
  }
  node.seen = scope.version;
  node.touched.clear();
  node.best_known = false;
}

void Walk::expand(AccountId id, Scope scope) {
  Node& node = marked_node(id);
  node.expanded = node.rebuild = node.fresh = true;
  prefetch_children(id);
  if (index_->summary(id).own_jobs != 0) add_child(node, id, id, true, scope);
  for (const AccountId child : index_->children(id)) {
    const NodeSummary& summary = index_->summary(child);
    if (summary.jobs != 0) add_child(node, child, id, summary.user, scope);
  }
  if (node.children.size() > 1) fill_values(id);
}

// Prefetches the cache lines of all siblings at once; their accounts are spread over megabytes.
void Walk::prefetch_children(AccountId id) const {
  for (const AccountId child : index_->children(id)) {
    if (index_->summary(child).jobs == 0) continue;
    const char* account = first_account_ + (child.value - kRootAccount.value) * sizeof(AccountNode);
    __builtin_prefetch(account);
    __builtin_prefetch(account + offsetof(AccountNode, surplus));
    __builtin_prefetch(account + offsetof(AccountNode, adjustment));
    __builtin_prefetch(&memos_[child.value]);
  }
}

void Walk::add_child(Node& node, AccountId child_id, AccountId parent, bool by_class, Scope scope) {
  Child child{.id = child_id, .by_class = by_class};
  if (!live(child, parent, scope)) return;
  update_class(child, parent, scope);
  node.children.push_back(child);
}

void Walk::recheck_all(AccountId id, Scope scope) {
  Node& node = marked_node(id);
  bool changed = !node.touched.empty();
  const auto gone = [&](Child& child) {
    const MilliGpu next = child.next;
    if (!live(child, id, scope)) return true;
    if (child.next != next) changed = true;
    if (child.by_class && update_class(child, id, scope)) changed = true;
    if (child.id != id && index_->summary(child.id).quota != 0) changed = true;
    return false;
  };
  changed |= std::erase_if(node.children, gone) != 0;
  node.rebuild |= changed;
}

void Walk::recheck_touched(AccountId id, Scope scope) {
  Node& node = marked_node(id);
  for (const AccountId touched : node.touched) {
    Child* const child = child_of(node, touched);
    if (child == nullptr) continue;
    if (!live(*child, id, scope)) {
      node.children.erase(node.children.begin() + (child - node.children.data()));
      node.rebuild = true;
    } else if (child->by_class && update_class(*child, id, scope)) {
      node.rebuild = true;
    } else if (!node.rebuild) {
      const auto at = std::lower_bound(node.siblings.begin(), node.siblings.end(), touched,
                                       [](const Sibling& s, AccountId t) { return s.id < t; });
      if (at != node.siblings.end() && at->id == touched) {
        rekey(id, static_cast<std::size_t>(at - node.siblings.begin()), *child);
      }
    }
  }
}

// Returns true if the class of its next job changed.
bool Walk::update_class(Child& child, AccountId parent, Scope scope) {
  if (!child.by_class) return false;
  const std::int32_t was = child.priority;
  if (nothing_blocked()) {
    child.priority = index_->summary(child.id).priority;
    return child.priority != was;
  }
  const Scope inner = child.id == parent ? scope : below(scope, child.id);
  child.priority = index_->jobs()[first_open(child.id, inner)].priority;
  return child.priority != was;
}

void Walk::fill_values(AccountId id) {
  for (Child& child : marked_node(id).children) {
    child.value = child.id == id ? own_value(id) : value_of(child.id);
  }
}

double Walk::value_of(AccountId id) const {
  switch (setup_.policy) {
    case OrderPolicy::kTargetShare:
      return setup_.tree->sort_surplus(id, instant_);
    case OrderPolicy::kExact:
      return setup_.tree->usage(id, instant_);
    case OrderPolicy::kUsageTick:
      assert(setup_.tick != nullptr);
      return setup_.tick->usage(id);
    case OrderPolicy::kDrf:
    case OrderPolicy::kFifo:
      return 0;
  }
  return 0;
}

// An account's own jobs have no quota: their surplus is their usage. It is a difference of sums. A
// rounding error counts as 0, or it would decide between accounts without past usage.
double Walk::own_value(AccountId id) const {
  if (setup_.policy == OrderPolicy::kDrf) return 0;
  const auto usage = [this](AccountId of) {
    return setup_.policy == OrderPolicy::kUsageTick ? setup_.tick->usage(of)
                                                    : setup_.tree->usage(of, instant_);
  };
  constexpr double kRounding = 1e-9;  // of the total; 53 bits and some thousand sums leave less
  const double all = usage(id);
  double value = all;
  for (const AccountId child : index_->children(id)) value -= usage(child);
  return value > kRounding * all ? value : 0;
}

MilliGpu Walk::alloc_of(AccountId id) const {
  const MilliGpu alloc = setup_.tree->node(id).alloc();
  return simulated_ && marked(id) ? alloc + marked_node(id).extra : alloc;
}

MilliGpu Walk::own_alloc(AccountId id) const {
  MilliGpu alloc = alloc_of(id);
  for (const AccountId child : index_->children(id)) alloc -= alloc_of(child);
  return alloc;
}

// A quick test; the exact one needs the next job, and runs only for the first child.
bool Walk::may_be_within(const Sibling& sibling, AccountId parent) const {
  return setup_.policy == OrderPolicy::kTargetShare && sibling.id != parent && sibling.quota > 0 &&
         sibling.alloc <= sibling.quota;
}

// True if the account's quota would cover the job too.
bool Walk::covers(AccountId id, std::uint32_t slot) const {
  const ShapeCost& cost = index_->kind(index_->jobs()[slot].kind).cost;
  const AccountNode& node = setup_.tree->node(id);
  const ProductDemand more{cost.product, alloc_of(id) - node.alloc() + cost.milligpu};
  return subak::covers(node, {&more, 1});
}

// Selects the children that take part, and computes their keys.
void Walk::rebuild(AccountId id) {
  Node& node = marked_node(id);
  node.rebuild = node.has_targets = false;
  std::int32_t top = std::numeric_limits<std::int32_t>::min();
  for (const Child& child : node.children) {
    if (child.by_class) top = std::max(top, child.priority);
  }
  node.siblings.clear();
  for (const Child& child : node.children) {
    if (child.by_class && child.priority != top) continue;
    const bool own = child.id == id;
    const NodeSummary& summary = index_->summary(child.id);
    // Filled in place: a copy would wait for each of these stores.
    Sibling& sibling = node.siblings.emplace_back();
    sibling.id = child.id;
    sibling.shares = own ? 1 : summary.shares;
    sibling.alloc = own ? own_alloc(id) : alloc_of(child.id);
    sibling.next = child.next;
    sibling.quota = own ? 0 : summary.quota;
    sibling.within_quota = may_be_within(sibling, id);
    sibling.surplus = sibling.usage = child.value;
  }
  const std::size_t n = node.siblings.size();
  node.keys.resize(n);
  node.heap.clear();
  if (n == 1) return;
  order_keys(setup_.policy, *setup_.rule, node.siblings, node.keys);
  if (n <= kFewSiblings) return;
  for (std::uint32_t i = 0; i < n; ++i) node.heap.push_back(i);
  std::make_heap(node.heap.begin(), node.heap.end(),
                 [&](std::uint32_t a, std::uint32_t b) { return node.keys[b] < node.keys[a]; });
}

// Updates the key of a child whose allocation or next job changed.
void Walk::rekey(AccountId id, std::size_t at, const Child& child) {
  Node& node = marked_node(id);
  Sibling& sibling = node.siblings[at];
  sibling.alloc = sibling.id == id ? own_alloc(id) : alloc_of(sibling.id);
  sibling.next = child.next;
  sibling.within_quota = may_be_within(sibling, id);
  compute_key(node, at);
}

void Walk::compute_key(Node& node, std::size_t at) {
  if (node.siblings.size() == 1) return;
  // Only its own key changes; the figures shared with its siblings are in its target.
  OrderKey& key = node.keys[at];
  order_keys(setup_.policy, *setup_.rule, {&node.siblings[at], 1}, {&key, 1});
  if (setup_.policy == OrderPolicy::kTargetShare && key.band == 1) {
    know_targets(node);
    key.first = per_target(node.siblings[at], node.targets[at]);
  }
  if (!node.heap.empty()) sift(node, at);
}

void Walk::know_targets(Node& node) const {
  if (node.has_targets) return;
  node.has_targets = true;
  node.targets.resize(node.siblings.size());
  fill_targets(*setup_.rule, node.siblings, node.targets);
}

std::size_t Walk::first_of(const Node& node) const {
  if (!node.heap.empty()) return node.heap.front();
  const auto it = std::min_element(node.keys.begin(), node.keys.end());
  return node.keys.size() == 1 ? 0 : static_cast<std::size_t>(it - node.keys.begin());
}

// Moves a sibling with a changed key to its position in the heap. It is nearly always the first.
void Walk::sift(Node& node, std::size_t at) {
  auto& heap = node.heap;
  const auto less = [&](std::size_t a, std::size_t b) {
    return node.keys[heap[a]] < node.keys[heap[b]];
  };
  auto i = static_cast<std::size_t>(std::find(heap.begin(), heap.end(), at) - heap.begin());
  while (i > 0 && less(i, (i - 1) / 2)) {
    std::swap(heap[i], heap[(i - 1) / 2]);
    i = (i - 1) / 2;
  }
  for (;;) {
    std::size_t child = 2 * i + 1;
    if (child + 1 < heap.size() && less(child + 1, child)) ++child;
    if (child >= heap.size() || !less(child, i)) return;
    std::swap(heap[i], heap[child]);
    i = child;
  }
}

}  // namespace subak::ready

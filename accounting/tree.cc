#include "accounting/tree.h"

#include <algorithm>
#include <cassert>

#include "core/account_limits.h"
#include "core/account_path.h"
#include "core/must.h"

namespace subak {
namespace {

using Amounts = std::vector<std::pair<ProductId, MilliGpu>>;

Amounts sorted(Amounts amounts) {
  std::sort(amounts.begin(), amounts.end());
  return amounts;
}

void add_to(Amounts& sum, const Amounts& amounts) {
  for (const auto& [product, amount] : amounts) {
    const auto it =
        std::find_if(sum.begin(), sum.end(), [p = product](const auto& x) { return x.first == p; });
    if (it == sum.end()) {
      sum.emplace_back(product, amount);
    } else {
      it->second += amount;
    }
  }
}

// Returns the milli-GPU for which the account's meters run: what it holds, without what claims set
// aside.
MilliGpu metered(const AccountNode& node) { return node.alloc() - sum_of(node.jobs.claimed); }

void check_account(const AccountTree& tree, const AccountNode& n) {
  assert(tree.find(n.spec.path) == n.id);
  MilliGpu held = 0, running = 0, children = 0, quota = 0;
  std::uint32_t below = 1;
  for (const ProductLevel& level : n.holdings.levels()) {
    assert(level.held >= 0 && level.running >= 0);
    held += level.held;
    running += level.running;
  }
  assert(held == n.holdings.held() && running == n.holdings.running());
  for (const AccountId id : n.children) {
    const AccountNode& child = tree.node(id);
    assert(child.parent == n.id && !child.removed && child.depth == n.depth + 1);
    children += child.alloc();
    below += child.below;
  }
  assert(children <= n.alloc());
  assert(n.jobs.sums.jobs >= 0 && n.jobs.sums.rate >= 0 && n.jobs.sums.rate <= running + held);
  assert(below == n.below);
  assert(std::is_sorted(n.children.begin(), n.children.end()));
  for (const auto& [product, amount] : n.quota) quota += amount;
  assert(quota == n.quota_total);
  if (n.spec.quota.empty()) assert(n.quota == quota_of_children(tree, n));
  for (const std::string& name : n.spec.namespaces) assert(tree.names().owner_of(name) == n.id);
  assert(n.meters.usage_rate() == metered(n));
  assert(n.meters.surplus_rate() == beyond_quota(n));
}

}  // namespace

Amounts quota_of_children(const AccountTree& tree, const AccountNode& parent) {
  Amounts sum;
  for (const AccountId child : parent.children) add_to(sum, tree.node(child).quota);
  return sorted(std::move(sum));
}

MilliGpu beyond_quota(const AccountNode& node) {
  if (node.quota.empty()) [[likely]]
    return metered(node);
  if (node.jobs.claimed.empty()) return uncovered(node.quota, node.holdings.levels(), {});
  std::vector<ProductLevel> levels(node.holdings.levels().begin(), node.holdings.levels().end());
  for (ProductLevel& level : levels) level.held -= amount_of(node.jobs.claimed, level.product);
  return uncovered(node.quota, levels, {});
}

AccountTree::AccountTree(DurationMs half_life_ms) : clock_(half_life_ms) {
  create(kRootAccount, AccountSpec{});
}

AccountNode& AccountTree::at(AccountId id) {
  assert(exists(id));
  return nodes_[id.value];
}

AccountId AccountTree::next_id() const {
  return AccountId(static_cast<std::uint32_t>(nodes_.size()));
}

std::vector<AccountId> AccountTree::preorder() const {
  std::vector<AccountId> out, stack{kRootAccount};
  out.reserve(names_.live());
  while (!stack.empty()) {
    const AccountId id = stack.back();
    stack.pop_back();
    out.push_back(id);
    const auto& children = node(id).children;
    stack.insert(stack.end(), children.rbegin(), children.rend());
  }
  must(out.size() == names_.live(), "every live account is below the root, once");
  return out;
}

AccountNode& AccountTree::slot(AccountId id) {
  assert(id.value != 0 && !exists(id) && id < kUnassigned);
  if (id.value >= nodes_.size()) nodes_.resize(id.value + std::size_t{1});
  nodes_[id.value].id = id;
  return nodes_[id.value];
}

AccountId AccountTree::id_for(std::string_view path) const {
  if (const AccountId live = find(path)) return live;
  const AccountId removed = names_.find_removed(path);
  return removed ? removed : next_id();
}

void AccountTree::add_to_parent(AccountNode& node) {
  names_.add(node.spec.path, node.id);
  node.below = 1;
  if (node.id == kRootAccount) return;
  node.parent = find(parent_path(node.spec.path));
  must(static_cast<bool>(node.parent), "an account has a live parent");
  for (AccountId id = node.parent; id; id = at(id).parent) ++at(id).below;
  AccountNode& parent = at(node.parent);
  node.depth = parent.depth + 1;
  const auto place = std::lower_bound(parent.children.begin(), parent.children.end(), node.id);
  parent.children.insert(place, node.id);
}

AccountNode& AccountTree::create(AccountId id, const AccountSpec& spec) {
  AccountNode& node = slot(id);
  node.spec.path = spec.path;
  node.spec.shares = spec.shares;
  add_to_parent(node);
  return node;
}

void AccountTree::revive(AccountNode& node) {
  must(names_.find_removed(node.spec.path) == node.id, "who comes back had gone");
  node.removed = false;
  node.spec.namespaces.clear();  // they may belong to another account by now
  add_to_parent(node);
}

void AccountTree::set(AccountId id, const AccountSpec& spec, std::int64_t revision, TimeMs now,
                      const Amounts& quota, const Amounts& limit, const BorrowAmounts& by_product,
                      ShareEdit shares) {
  AccountNode& node = exists(id) ? at(id) : create(id, spec);
  must(node.spec.path == spec.path, "a number keeps its path");
  must(spec.shares >= 0 && spec.shares <= limits::kMaxShares, "shares are in their range");
  if (node.removed) revive(node);
  if (shares == ShareEdit::kFromNowOn) adjust_for_shares(node, spec.shares, now);
  names_.set_namespaces(id, node.spec.namespaces, spec.namespaces);
  node.spec = spec;
  node.revision = revision;
  node.limits = {sorted(limit), extra_limits_of(spec, by_product)};
  node.lending = {parse_borrow(spec.borrow, "borrow").value().total,
                  parse_borrow(spec.lend, "lend").value().total, sorted(by_product.borrow),
                  sorted(by_product.lend)};
  refresh_quota(&node, spec.quota.empty() ? quota_of_children(*this, node) : sorted(quota), now);
  edited_.push_back(id);
  quota_sums_.edited(nodes_, id);
  must(find(spec.path) == id, "an account is found by its path");
}

void AccountTree::begin_at_mean(AccountId id, TimeMs now) {
  AccountNode& node = at(id);
  must(node.alloc() == 0 && !node.meters.adjusted(), "a new node begins with nothing");
  if (id == kRootAccount) return;
  const DecayInstant instant = clock_.at(now);
  const AccountNode& parent = this->node(node.parent);
  double shares = 0, surplus = 0, own = usage(parent.id, instant);
  GpuTime own_exact = usage_undecayed(parent.id, now);
  for (const AccountId sibling : parent.children) {
    if (sibling == id) continue;
    own -= usage(sibling, instant);
    own_exact -= usage_undecayed(sibling, now);
    if (this->node(sibling).spec.shares == 0) continue;
    shares += static_cast<double>(this->node(sibling).spec.shares);
    surplus += sort_surplus(sibling, instant);
  }
  const bool own_jobs = node.spec.user && own_exact > GpuTime();
  if (own_jobs) {
    shares += 1;
    surplus += std::max(0.0, own);
  }
  must(shares > 0 || surplus == 0, "who has a surplus has shares");
  if (second_ && shares > 0) {
    second_->begin_at_mean(nodes_, id, static_cast<double>(node.spec.shares) / shares, own_jobs,
                           now);
  }
  if (surplus <= 0) return;
  node.meters.adjust(clock_, surplus / shares * static_cast<double>(node.spec.shares), now);
}

void AccountTree::adjust_for_shares(AccountNode& node, std::int64_t new_shares, TimeMs now) {
  const std::int64_t old_shares = node.spec.shares;
  if (new_shares == old_shares || new_shares == 0 || old_shares == 0) return;
  const double key = sort_surplus(node.id, now);
  const double change = static_cast<double>(new_shares - old_shares);
  node.meters.adjust(clock_, key * change / static_cast<double>(old_shares), now);
  if (second_) second_->adjust(node.id, change / static_cast<double>(old_shares), now);
}

void AccountTree::refresh_quota(AccountNode* node, Amounts next, TimeMs now, AccountId end) {
  const DecayInstant instant = clock_.at(now);
  while (next != node->quota) {
    node->quota = std::move(next);
    node->quota_total = 0;
    for (const auto& [product, amount] : node->quota) node->quota_total += amount;
    must(node->quota_total >= 0, "a quota is not negative");
    const MilliGpu beyond = beyond_quota(*node);
    node->meters.set_surplus_rate(clock_, beyond, instant);
    if (second_) second_->set_surplus_rate(node->id, beyond, now);
    edited_.push_back(node->id);
    if (node->parent == end) return;
    node = &at(node->parent);
    if (!node->spec.quota.empty()) return;
    next = quota_of_children(*this, *node);
  }
}

void AccountTree::remove(AccountId id, TimeMs now) {
  AccountNode& node = at(id);
  must(id != kRootAccount && !node.removed, "an account goes once, the root never");
  must(node.children.empty() && node.alloc() == 0, "who goes has and holds nothing");
  names_.set_namespaces(id, node.spec.namespaces, {});
  names_.remove(node.spec.path, id);
  node.removed = true;
  node.quota.clear();  // it promises nothing until it is created again
  node.limits.extra.reset();
  node.jobs.budgets.clear();
  node.quota_total = 0;
  node.below = 0;
  for (AccountId above = node.parent; above; above = at(above).parent) --at(above).below;
  AccountNode& parent = at(node.parent);
  parent.children.erase(std::lower_bound(parent.children.begin(), parent.children.end(), id));
  if (parent.spec.quota.empty()) refresh_quota(&parent, quota_of_children(*this, parent), now);
  edited_.push_back(id);
  quota_sums_.edited(nodes_, id);
  must(!find(node.spec.path) && id_for(node.spec.path) == id, "a path keeps its number");
}

void AccountTree::restore_removed(AccountId id, AccountId parent, const AccountSpec& spec,
                                  std::int64_t revision) {
  AccountNode& node = slot(id);
  node.parent = parent;
  node.depth = this->node(parent).depth + 1;
  node.spec = spec;
  node.revision = revision;
  node.removed = true;
  names_.add_removed(spec.path, id);
  edited_.push_back(id);
}

void AccountTree::hold(AccountId leaf, ProductId product, MilliGpu amount, TimeMs now) {
  must(amount >= 0, "amounts are not negative");
  change_path(leaf, product, amount, 0, now);
}

void AccountTree::bind(AccountId leaf, ProductId product, MilliGpu amount, TimeMs now) {
  must(amount >= 0, "amounts are not negative");
  change_path(leaf, product, -amount, amount, now);
}

void AccountTree::release(AccountId leaf, ProductId product, MilliGpu amount, bool was_running,
                          TimeMs now) {
  must(amount >= 0, "amounts are not negative");
  change_path(leaf, product, was_running ? 0 : -amount, was_running ? -amount : 0, now);
}

void AccountTree::change_path(AccountId leaf, ProductId product, MilliGpu held, MilliGpu running,
                              TimeMs now) {
  const DecayInstant instant = clock_.at(now);
  const MilliGpu delta = held + running;
  MilliGpu below = 0;
  for (AccountId id = leaf; id;) {
    AccountNode& node = at(id);
    must(!node.removed, "a removed account holds nothing");
    if (delta != 0) {
      ++node.changes;
      node.meters.change_usage(clock_, delta, instant);
    }
    node.holdings.change(product, held, running);
    must(node.alloc() >= below, "an account has what those below it have");
    below = node.alloc();
    if (delta != 0) {
      const MilliGpu beyond = beyond_quota(node);
      node.meters.set_surplus_rate(clock_, beyond, instant);
      if (second_) second_->change(id, delta, beyond, now);
    }
    must(claimed_ != 0 || node.meters.usage_rate() == node.alloc(), "what is held is metered");
    id = node.parent;
  }
  if (delta != 0) quota_sums_.changed(nodes_, leaf, product);
}

void AccountTree::claim(AccountId leaf, std::span<const ProductDemand> amounts, int sign) {
  for (AccountId id = leaf; id; id = at(id).parent) {
    AccountNode& node = at(id);
    must(!node.removed, "a removed account claims nothing");
    ++node.changes;
    node.jobs.sums.jobs += sign;
    node.jobs.claiming += sign;
    must(node.jobs.claiming >= 0, "a claim ends that began");
    for (const auto& [product, amount] : amounts) {
      node.holdings.change(product, sign * amount, 0);
      add_amount(node.jobs.claimed, product, sign * amount);
      must(amount_of(node.jobs.claimed, product) >= 0, "a claim ends that began");
    }
    std::erase_if(node.jobs.claimed, [](const auto& entry) { return entry.second == 0; });
  }
  claimed_ += sign * sum_of(amounts);
  must(claimed_ >= 0, "a claim ends that began");
  for (const auto& [product, amount] : amounts) quota_sums_.changed(nodes_, leaf, product);
}

void AccountTree::add_sums(AccountId leaf, const JobSums& more) {
  for (AccountId id = leaf; id; id = at(id).parent) {
    JobSums& sums = at(id).jobs.sums;
    sums += more;
    must(sums.jobs >= 0 && sums.rate >= 0, "a job ends that began");
  }
}

void AccountTree::restore_meters(AccountId id, const AccountMeters::State& meters) {
  AccountNode& node = at(id);
  must(meters.usage.rate == metered(node), "what is held is metered");
  must(meters.surplus.rate >= 0 && meters.surplus.rate <= meters.usage.rate,
       "a surplus is a part of the usage");
  ++node.changes;
  node.meters.restore(meters);
}

void AccountTree::restart_meters(DurationMs half_life_ms, TimeMs now) {
  second_.reset();
  clock_ = DecayClock(half_life_ms);
  const DecayInstant instant = clock_.at(now);
  for (AccountNode& node : nodes_) {
    if (!node.id || node.removed) {
      node.meters.forget_decayed();
    } else {
      node.meters.restart(clock_, beyond_quota(node), instant);
    }
  }
  edited_.push_back(kRootAccount);
  const AccountNode& root = node(kRootAccount);
  must(root.meters.usage_rate() == metered(root), "what is held is metered");
}

void AccountTree::check_invariants() const {
  std::size_t live = 0;
  for (const AccountNode& node : nodes_) {
    if (!node.id || node.removed) continue;
    ++live;
    check_account(*this, node);
  }
  assert(live == names_.live() && live == node(kRootAccount).below);
  quota_sums_.check(nodes_);
}

AccountId parent_of(const AccountTree& tree, std::string_view path) {
  return path.empty() ? AccountId() : tree.find(parent_path(path));
}

bool is_below(const AccountTree& tree, AccountId below, AccountId account) {
  while (below && below != account) below = tree.node(below).parent;
  return below == account;
}

bool has_quotas(const AccountTree& tree) { return tree.node(kRootAccount).quota_total > 0; }

bool is_below_quota(const AccountTree& tree, AccountId id) {
  const auto has_own = [](const AccountNode& node) {
    return !node.spec.quota.empty() && node.quota_total > 0;
  };
  while (id && !has_own(tree.node(id))) id = tree.node(id).parent;
  return bool(id);
}

}  // namespace subak

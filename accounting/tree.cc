// The structure of the tree: nodes, names, quotas, and the effects of an edit on the meters.
#include "accounting/tree.h"

#include <algorithm>
#include <cassert>

#include "core/limits.h"
#include "core/must.h"

namespace subak {
namespace {

using Amounts = std::vector<std::pair<ProductId, MilliGpu>>;

std::string_view parent_path(std::string_view path) {
  const auto slash = path.find('/');
  if (slash != std::string_view::npos) return path.substr(0, slash);
  const auto dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

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

}  // namespace

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

AccountId AccountTree::find(std::string_view path) const {
  const auto it = by_path_.find(path);
  return it == by_path_.end() ? AccountId() : it->second;
}

AccountId AccountTree::find_namespace(std::string_view cluster, std::string_view ns) const {
  std::string key;
  key.reserve(cluster.size() + 1 + ns.size());
  key.append(cluster).append(1, '/').append(ns);
  auto it = by_namespace_.find(std::string_view(key));
  if (it == by_namespace_.end()) it = by_namespace_.find(ns);
  return it == by_namespace_.end() ? AccountId() : it->second;
}

std::vector<AccountId> AccountTree::preorder() const {
  std::vector<AccountId> out, stack{kRootAccount};
  out.reserve(live_);
  while (!stack.empty()) {
    const AccountId id = stack.back();
    stack.pop_back();
    out.push_back(id);
    const auto& children = node(id).children;
    stack.insert(stack.end(), children.rbegin(), children.rend());
  }
  return out;
}

AccountNode& AccountTree::slot(AccountId id) {
  assert(id.value != 0 && !exists(id) && id < kUnassigned);
  if (id.value >= nodes_.size()) nodes_.resize(id.value + std::size_t{1});
  nodes_[id.value].id = id;
  return nodes_[id.value];
}

AccountId AccountTree::parent_of(std::string_view path) const {
  return path.empty() ? AccountId() : find(parent_path(path));
}

AccountId AccountTree::id_for(std::string_view path) const {
  if (const AccountId live = find(path)) return live;
  const auto it = removed_by_path_.find(path);
  return it == removed_by_path_.end() ? next_id() : it->second;
}

void AccountTree::add_to_parent(AccountNode& node) {
  must(by_path_.emplace(node.spec.path, node.id).second, "a path has one live node");
  ++live_;
  node.below = 1;
  if (node.id == kRootAccount) return;
  node.parent = find(parent_path(node.spec.path));
  for (AccountId id = node.parent; id; id = at(id).parent) ++at(id).below;
  AccountNode& parent = at(node.parent);
  node.depth = parent.depth + 1;
  const auto place = std::lower_bound(parent.children.begin(), parent.children.end(), node.id);
  parent.children.insert(place, node.id);
}

AccountNode& AccountTree::create(AccountId id, const AccountSpec& spec) {
  AccountNode& node = slot(id);
  must(!removed_by_path_.contains(spec.path), "a path keeps its number");
  node.spec.path = spec.path;
  node.spec.shares = spec.shares;
  add_to_parent(node);
  return node;
}

void AccountTree::revive(AccountNode& node) {
  node.removed = false;
  must(removed_by_path_.erase(node.spec.path) == 1, "who comes back had gone");
  node.spec.namespaces.clear();  // they may belong to another account by now
  add_to_parent(node);
}

void AccountTree::set(AccountId id, const AccountSpec& spec, std::int64_t revision, TimeMs now,
                      const Amounts& quota, const Amounts& limit) {
  AccountNode& node = exists(id) ? at(id) : create(id, spec);
  must(node.spec.path == spec.path, "a number keeps its path");
  must(spec.shares >= 0 && spec.shares <= limits::kMaxShares, "shares are in their range");
  if (node.removed) revive(node);
  adjust_for_shares(node, spec.shares, now);
  replace_namespaces(node, spec.namespaces);
  node.spec = spec;
  node.revision = revision;
  node.limit = sorted(limit);
  node.borrow = parse_borrow(spec.borrow, "borrow").value();
  refresh_quota(&node, spec.quota.empty() ? quota_of_children(node) : sorted(quota), now);
  edited_.push_back(id);
  must(find(spec.path) == id, "an account is found by its path");
}

void AccountTree::begin_at_mean(AccountId id, TimeMs now) {
  AccountNode& node = at(id);
  must(node.alloc() == 0 && node.adjustment.idle(), "a new node begins with nothing");
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
  if (node.spec.user && own_exact > GpuTime()) {
    shares += 1;
    surplus += std::max(0.0, own);
  }
  must(shares > 0 || surplus == 0, "who has a surplus has shares");
  if (surplus <= 0) return;
  node.adjustment.add(clock_, surplus / shares * static_cast<double>(node.spec.shares), now);
}

void AccountTree::adjust_for_shares(AccountNode& node, std::int64_t new_shares, TimeMs now) {
  const std::int64_t old_shares = node.spec.shares;
  if (new_shares == old_shares || new_shares == 0 || old_shares == 0) return;
  const double key = sort_surplus(node.id, now);
  const double change = static_cast<double>(new_shares - old_shares);
  node.adjustment.add(clock_, key * change / static_cast<double>(old_shares), now);
}

void AccountTree::replace_namespaces(AccountNode& node,
                                     const std::vector<std::string>& namespaces) {
  for (const auto& name : node.spec.namespaces) {
    must(by_namespace_.erase(name) == 1, "a namespace has one account");
  }
  for (const auto& name : namespaces) {
    must(by_namespace_.emplace(name, node.id).second, "a namespace has one account");
  }
}

void AccountTree::refresh_quota(AccountNode* node, Amounts next, TimeMs now) {
  const DecayInstant instant = clock_.at(now);
  while (next != node->quota) {
    node->quota = std::move(next);
    node->quota_total = 0;
    for (const auto& [product, amount] : node->quota) node->quota_total += amount;
    refresh_surplus(*node, instant);
    edited_.push_back(node->id);
    if (!node->parent) return;
    node = &at(node->parent);
    if (!node->spec.quota.empty()) return;
    next = quota_of_children(*node);
  }
}

AccountTree::Amounts AccountTree::quota_of_children(const AccountNode& parent) const {
  Amounts sum;
  for (const AccountId child : parent.children) add_to(sum, node(child).quota);
  return sorted(std::move(sum));
}

void AccountTree::remove(AccountId id, TimeMs now) {
  AccountNode& node = at(id);
  must(id != kRootAccount && !node.removed, "an account goes once, the root never");
  must(node.children.empty() && node.alloc() == 0, "who goes has and holds nothing");
  replace_namespaces(node, {});
  by_path_.erase(node.spec.path);
  removed_by_path_.emplace(node.spec.path, id);
  node.removed = true;
  node.quota.clear();  // it promises nothing until it is created again
  node.quota_total = 0;
  --live_;
  node.below = 0;
  for (AccountId above = node.parent; above; above = at(above).parent) --at(above).below;
  AccountNode& parent = at(node.parent);
  parent.children.erase(std::lower_bound(parent.children.begin(), parent.children.end(), id));
  if (parent.spec.quota.empty()) refresh_quota(&parent, quota_of_children(parent), now);
  edited_.push_back(id);
}

void AccountTree::restore_removed(AccountId id, AccountId parent, const AccountSpec& spec,
                                  std::int64_t revision) {
  must(!find(spec.path), "a path has one node");
  AccountNode& node = slot(id);
  node.parent = parent;
  node.depth = this->node(parent).depth + 1;
  node.spec = spec;
  node.revision = revision;
  node.removed = true;
  must(removed_by_path_.emplace(spec.path, id).second, "a path keeps its number");
  edited_.push_back(id);
}

}  // namespace subak

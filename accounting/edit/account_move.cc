#include "accounting/edit/account_move.h"

#include <algorithm>
#include <utility>

#include "accounting/amounts.h"
#include "core/account_limits.h"
#include "core/limits.h"
#include "core/must.h"

namespace subak {
namespace {

Error refused(ErrorCode code, const std::string& to, std::string want) {
  return {code, "to", to, std::move(want)};
}

// Returns all accounts at or below the account, removed ones too, by id.
std::vector<AccountId> all_below(const AccountTree& tree, AccountId id) {
  std::vector<AccountId> out;
  for (const AccountNode& node : tree.nodes()) {
    if (node.id && is_below(tree, node.id, id)) out.push_back(node.id);
  }
  return out;
}

std::optional<Error> check_form(const AccountTree& tree, const AccountNode& node,
                                const std::string& to) {
  AccountSpec place;
  place.path = to;
  place.user = node.spec.user;
  const bool user = to.find('/') != std::string::npos;
  if (user != node.spec.user) {
    return refused(ErrorCode::kInvalid, to,
                   node.spec.user ? "want the path of a user, as ml.vision/ana"
                                  : "want the path of an account, as ml.vision");
  }
  auto error = tree.check(place);
  // A move adds no account, so a full tree has room for it.
  if (!error || error->code == ErrorCode::kExhausted) return std::nullopt;
  error->field = "to";
  return error;
}

// Checks the accounts that move along: their levels and the lengths of their paths.
std::optional<Error> check_bounds(const AccountTree& tree, const AccountNode& node,
                                  const std::string& to) {
  const std::uint32_t depth = tree.node(parent_of(tree, to)).depth + 1;
  for (const AccountId id : all_below(tree, node.id)) {
    const AccountNode& below = tree.node(id);
    const std::size_t bytes = below.spec.path.size() - node.spec.path.size() + to.size();
    if (bytes > limits::kMaxNameBytes) {
      return refused(ErrorCode::kInvalid, to,
                     "want a shorter path: that of " + below.spec.path + " would have " +
                         std::to_string(bytes) + " bytes, more than " +
                         std::to_string(limits::kMaxNameBytes));
    }
    if (below.depth - node.depth + depth > limits::kMaxAccountDepth) {
      return refused(ErrorCode::kInvalid, to,
                     "want at most " + std::to_string(limits::kMaxAccountDepth) + " levels; " +
                         below.spec.path + " would be deeper");
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Error> check_move(const AccountTree& tree, AccountId id, const std::string& to) {
  const AccountNode& node = tree.node(id);
  const std::string& from = node.spec.path;
  if (id == kRootAccount) {
    return Error{ErrorCode::kInvalid, "path", from, "want an account below the root"};
  }
  if (tree.find(to)) return refused(ErrorCode::kExists, to, "want a path that no account has");
  if (to.starts_with(from + ".") || to.starts_with(from + "/")) {
    return refused(ErrorCode::kInvalid, to, "want a place that is not below the account itself");
  }
  if (auto error = check_form(tree, node, to)) return error;
  if (tree.names().find_removed(to)) {
    return refused(ErrorCode::kExists, to,
                   "an account of this path was deleted, and the path keeps its usage; want a path "
                   "that no account had");
  }
  const AccountId parent = parent_of(tree, to);
  if (node.spec.user && parent != node.parent) {
    return refused(ErrorCode::kInvalid, to,
                   "want a user of " + tree.node(node.parent).spec.path +
                       ": the jobs of a user belong to its account");
  }
  return check_bounds(tree, node, to);
}

std::vector<AccountId> accounts_below(const AccountTree& tree, AccountId id) {
  std::vector<AccountId> out{id};
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto& children = tree.node(out[i]).children;
    out.insert(out.end(), children.begin(), children.end());
  }
  return out;
}

std::vector<AccountId> parents_first(const AccountTree& tree) {
  std::vector<AccountId> out;
  std::vector<bool> is_listed(tree.nodes().size());
  for (const AccountNode& node : tree.nodes()) {
    const std::size_t begin = out.size();
    for (AccountId id = node.id; id && !is_listed[id.value]; id = tree.node(id).parent) {
      is_listed[id.value] = true;
      out.push_back(id);
    }
    std::reverse(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end());
  }
  return out;
}

void AccountMove::rename(AccountTree& tree, const std::vector<AccountId>& moving,
                         const std::string& to) {
  const std::size_t old_bytes = tree.node(moving.front()).spec.path.size();
  for (const AccountId id : moving) {
    AccountSpec& spec = tree.at(id).spec;
    std::string path = to + spec.path.substr(old_bytes);
    tree.names_.rename(spec.path, path, id);
    spec.path = std::move(path);
    if (!tree.node(id).removed) tree.edited_.push_back(id);
  }
}

void AccountMove::link(AccountTree& tree, AccountNode& node, AccountId to) {
  for (AccountId up = node.parent; up; up = tree.node(up).parent) tree.at(up).below -= node.below;
  auto& siblings = tree.at(node.parent).children;
  siblings.erase(std::lower_bound(siblings.begin(), siblings.end(), node.id));
  tree.edited_.push_back(node.parent);
  node.parent = to;
  for (AccountId up = to; up; up = tree.node(up).parent) tree.at(up).below += node.below;
  auto& children = tree.at(to).children;
  children.insert(std::lower_bound(children.begin(), children.end(), node.id), node.id);
  tree.edited_.push_back(to);
}

void AccountMove::add(AccountTree& tree, AccountNode& above, const AccountNode& node, int sign,
                      const DecayInstant& at) {
  ++above.changes;
  for (const ProductLevel& level : node.holdings.levels()) {
    above.holdings.change(level.product, sign * level.held, sign * level.running);
  }
  JobCounts& jobs = above.jobs;
  jobs.sums += sign > 0 ? node.jobs.sums : -node.jobs.sums;
  jobs.claiming += sign * node.jobs.claiming;
  must(jobs.sums.jobs >= 0 && jobs.claiming >= 0, "an account counts what those below it count");
  for (const auto& [product, amount] : node.jobs.claimed) {
    add_amount(jobs.claimed, product, sign * amount);
  }
  std::erase_if(jobs.claimed, [](const auto& entry) { return entry.second == 0; });
  const double before = above.meters.surplus(tree.clock_, at);
  const double after = std::max(0.0, before + sign * node.meters.surplus(tree.clock_, at));
  above.meters.add(tree.clock_, node.meters, {sign, after - before, beyond_quota(above)}, at);
}

// An account above both places may have the same quota as before. So it is updated once, after the
// accounts on both sides.
void AccountMove::refresh_quotas(AccountTree& tree, AccountId from, AccountId to, AccountId both,
                                 TimeMs now) {
  const auto refresh = [&](AccountId id, AccountId end) {
    AccountNode& node = tree.at(id);
    if (node.spec.quota.empty()) tree.refresh_quota(&node, quota_of_children(tree, node), now, end);
  };
  for (const AccountId side : {from, to}) {
    if (side != both) refresh(side, both);
  }
  refresh(both, {});
}

void AccountMove::make(AccountTree& tree, AccountId id, const std::string& to, TimeMs now) {
  AccountNode& node = tree.at(id);
  must(!node.removed && id != kRootAccount, "a live account is moved");
  std::vector<AccountId> moving = all_below(tree, id);
  std::iter_swap(moving.begin(), std::find(moving.begin(), moving.end(), id));
  const AccountId from = node.parent, parent = parent_of(tree, to);
  must(parent && !is_below(tree, parent, id), "an account moves below a live one");
  rename(tree, moving, to);
  ++node.changes;
  if (parent == from) return;
  const DecayInstant instant = tree.clock_.at(now);
  // The accounts above both places keep what they have.
  std::vector<AccountId> left, joined;
  AccountId both = from;
  for (; !is_below(tree, parent, both); both = tree.node(both).parent) {
    left.push_back(both);
    add(tree, tree.at(both), node, -1, instant);
  }
  for (AccountId up = parent; up != both; up = tree.node(up).parent) {
    joined.push_back(up);
    add(tree, tree.at(up), node, 1, instant);
  }
  if (tree.second_) tree.second_->move(tree.nodes_, id, std::move(left), std::move(joined), now);
  const std::uint32_t old_depth = node.depth, depth = tree.node(parent).depth + 1;
  for (const AccountId each : moving) tree.at(each).depth += depth - old_depth;
  link(tree, node, parent);
  refresh_quotas(tree, from, parent, both, now);
  tree.quota_sums_.moved(tree.nodes_);
  std::vector<PastMove>& moves = node.jobs.moves;
  if (moves.size() == kMostKept) moves.erase(moves.begin());
  moves.push_back({now, from});
  must(tree.find(to) == id && node.parent == parent, "an account is found at its new path");
}

void AccountMove::set_revision(AccountTree& tree, AccountId id, std::int64_t revision) {
  must(revision == next_revision(tree, id), "revisions count on one by one");
  tree.at(id).revision = revision;
}

void AccountMove::restore(AccountTree& tree, AccountId id, std::vector<PastMove> moves) {
  tree.at(id).jobs.moves = std::move(moves);
}

}  // namespace subak

#include "tests/engine/claims/exhaustive.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>

namespace subak::claim_model {
namespace {

constexpr std::size_t kMostGivers = 14;

int product_index(const std::string& name) {
  const auto at = std::find(kProducts.begin(), kProducts.end(), name);
  return name == kAnyProduct ? 0 : static_cast<int>(at - kProducts.begin());
}

int total_of(const std::vector<int>& pods) { return std::accumulate(pods.begin(), pods.end(), 0); }

int sum(const Gpus& gpus) { return std::accumulate(gpus.begin(), gpus.end(), 0); }

}  // namespace

Exhaustive::Exhaustive(const Engine& engine, const Books& books, Again again)
    : books_(books), again_(again) {
  min_run_ms_ = engine.policy().reclaim_min_run_ms;
  read_accounts(engine);
  read_nodes(engine);
  read_jobs();
}

void Exhaustive::read_accounts(const Engine& engine) {
  for (const AccountId id : engine.accounts().preorder()) {
    const AccountNode& node = engine.accounts().node(id);
    Account& account = accounts_[id];
    account.parent = node.parent;
    account.has_own_quota = !node.spec.quota.empty();
    for (const auto& [name, amount] : node.spec.quota) {
      account.own_quota.at(static_cast<std::size_t>(product_index(name))) =
          static_cast<int>(amount / kMilliPerGpu);
    }
    account.limit_of.fill(-1);
    for (const auto& [name, amount] : node.spec.limit) {
      account.limit_of.at(static_cast<std::size_t>(product_index(name))) =
          static_cast<int>(amount / kMilliPerGpu);
    }
    if (id != kRootAccount) accounts_[node.parent].children.push_back(id);
  }
  quota_of(kRootAccount);
}

Gpus Exhaustive::quota_of(AccountId id) {
  Account& account = accounts_.at(id);
  Gpus of_children{};
  for (const AccountId child : account.children) {
    const Gpus more = quota_of(child);
    for (std::size_t p = 0; p < more.size(); ++p) of_children.at(p) += more.at(p);
  }
  account.quota = account.has_own_quota ? account.own_quota : of_children;
  return account.quota;
}

void Exhaustive::read_nodes(const Engine& engine) {
  for (const NodeId id : engine.fleet().nodes(engine.find_cluster("main"))) {
    const NodeSpec& spec = *engine.fleet().node(id);
    Node& node = nodes_[id];
    node.product = product_index(spec.product);
    node.gpus = static_cast<int>(spec.gpus);
    node.usable = spec.ready && !spec.unschedulable && !engine.fleet().drained(id);
  }
}

void Exhaustive::read_jobs() {
  for (const auto& [id, job] : books_.jobs) {
    if (!job.in_attempt()) continue;
    for (const PodSlot& slot : job.slots) {
      if (slot.node) nodes_.at(slot.node).held |= slot.gpu_mask;
    }
    add(job.leaf, gpus_of(job), &Account::held);
    if (job.fixed) {
      accounts_.at(job.leaf).own_fixed += sum(gpus_of(job));
      for (AccountId a = job.leaf; a; a = accounts_.at(a).parent) {
        accounts_.at(a).fixed += sum(gpus_of(job));
      }
    }
    if (books_.is_victim(job)) continue;
    const bool gives_again = again_ == Again::kToo || !books_.was_victim(job);
    if (job.state == JobState::kEnding && gives_again) {
      ending_.push_back(&job);
    } else {
      add(job.leaf, gpus_of(job), &Account::left);
    }
  }
  for (const auto& [claimant, claim] : books_.claims) {
    for (const PodSlot& slot : claim.slots) {
      if (nodes_.contains(slot.node)) nodes_.at(slot.node).claimed |= slot.gpu_mask;
    }
    add(books_.jobs.at(claimant).leaf, gpus_of(claim.slots), &Account::held);
    add(books_.jobs.at(claimant).leaf, gpus_of(claim.slots), &Account::left);
  }
}

Gpus Exhaustive::gpus_of(const std::vector<PodSlot>& slots) const {
  Gpus gpus{};
  for (const PodSlot& slot : slots) {
    if (!slot.node || !nodes_.contains(slot.node)) continue;
    gpus.at(static_cast<std::size_t>(nodes_.at(slot.node).product)) += std::popcount(slot.gpu_mask);
  }
  return gpus;
}

Gpus Exhaustive::gpus_of(const Job& job) const { return gpus_of(job.slots); }

void Exhaustive::add(AccountId leaf, const Gpus& gpus, Gpus Account::*sum) {
  for (AccountId id = leaf; id; id = accounts_.at(id).parent) {
    for (std::size_t p = 0; p < gpus.size(); ++p) {
      (accounts_.at(id).*sum).at(p) += gpus.at(p);
    }
  }
}

// --- quotas --------------------------------------------------------------------------------------

bool Exhaustive::is_below(AccountId id, AccountId above) const {
  for (; id; id = accounts_.at(id).parent) {
    if (id == above) return true;
  }
  return false;
}

int Exhaustive::uncovered(const Account& account, const Gpus& held) {
  int rest = 0;
  for (std::size_t p = 1; p < held.size(); ++p) {
    rest += std::max(0, held.at(p) - account.quota.at(p));
  }
  return std::max(0, rest - account.quota[0]);
}

Gpus Exhaustive::plus(Gpus held, int product, int gpus) {
  held.at(static_cast<std::size_t>(product)) += gpus;
  return held;
}

bool Exhaustive::is_covered_below(AccountId top, AccountId leaf, int product, int gpus) const {
  std::vector<AccountId> path;  // from the leaf up
  for (AccountId id = leaf; id != top; id = accounts_.at(id).parent) path.push_back(id);
  bool above_speaks = false;
  for (auto id = path.rbegin(); id != path.rend(); ++id) {
    const Account& account = accounts_.at(*id);
    if (!account.any_quota()) return above_speaks;
    if (uncovered(account, plus(account.held, product, gpus)) > 0) return false;
    above_speaks = account.has_own_quota;
  }
  return above_speaks;
}

AccountId Exhaustive::reach_of(AccountId leaf, int product, int gpus) const {
  std::vector<AccountId> tops;
  for (AccountId id = accounts_.at(leaf).parent; id; id = accounts_.at(id).parent) {
    tops.push_back(id);
  }
  for (auto top = tops.rbegin(); top != tops.rend(); ++top) {
    if (is_covered_below(*top, leaf, product, gpus)) return *top;
  }
  return AccountId();
}

std::optional<int> Exhaustive::excess(AccountId id, const Gpus& left, int product) const {
  const Account& account = accounts_.at(id);
  if (!account.any_quota()) return std::nullopt;
  const auto p = static_cast<std::size_t>(product);
  return std::clamp(left.at(p) - account.quota.at(p), 0, uncovered(account, left));
}

bool Exhaustive::may_give(const Question& q, std::size_t mask, std::size_t next) const {
  bool quota_speaks = false;
  AccountId id = q.givers[next]->leaf;
  for (; !is_below(q.claimant.leaf, id); id = accounts_.at(id).parent) {
    Gpus left = accounts_.at(id).left;
    for (std::size_t i = 0; i < q.givers.size(); ++i) {
      if ((mask >> i & 1) == 0 || !is_below(q.givers[i]->leaf, id)) continue;
      const Gpus gone = gpus_of(*q.givers[i]);
      for (std::size_t p = 0; p < gone.size(); ++p) left.at(p) -= gone.at(p);
    }
    const std::optional<int> beyond = excess(id, left, q.product);
    if (beyond && *beyond == 0) return false;
    quota_speaks = quota_speaks || beyond;
  }
  if (quota_speaks) return true;
  for (; id; id = accounts_.at(id).parent) {  // a quota above covers it
    if (accounts_.at(id).has_own_quota && accounts_.at(id).any_quota()) return false;
  }
  return true;
}

int Exhaustive::need(AccountId id, AccountId leaf, int more) const {
  const Account& account = accounts_.at(id);
  if (!account.has_own_quota) return needs_below(id, leaf, more);
  const int fixed = account.fixed + (is_below(leaf, id) ? more : 0);
  return std::max(sum(account.quota), fixed);
}

int Exhaustive::needs_below(AccountId id, AccountId leaf, int more) const {
  int needs = accounts_.at(id).own_fixed + (id == leaf ? more : 0);
  for (const AccountId child : accounts_.at(id).children) needs += need(child, leaf, more);
  return needs;
}

bool Exhaustive::breaks_promise(const Question& q) const {
  if (!q.claimant.fixed || q.reach == kRootAccount) return false;
  const AccountId leaf = q.claimant.leaf;
  int installed = 0;
  for (const auto& [id, node] : nodes_) installed += node.gpus;
  for (AccountId id = leaf; id; id = accounts_.at(id).parent) {
    const Account& account = accounts_.at(id);
    const bool has_bound = id == kRootAccount || account.has_own_quota;
    if (!has_bound || account.children.empty()) continue;
    const int bound = id == kRootAccount ? installed : sum(account.quota);
    const int then = needs_below(id, leaf, total_of(q.claimant.pods));
    if (then > bound && then > needs_below(id, leaf, 0)) return true;
  }
  return false;
}

// --- places --------------------------------------------------------------------------------------

bool Exhaustive::has_rule(const Question& q, std::size_t mask, bool without_ending) const {
  const int need = total_of(q.claimant.pods);
  const auto p = static_cast<std::size_t>(q.product);
  for (AccountId id = q.claimant.leaf; id; id = accounts_.at(id).parent) {
    const Account& account = accounts_.at(id);
    // Other claims count as held, so their victims count as gone.
    Gpus held = without_ending ? account.left : account.held;
    const auto remove = [&](const Job& job) {
      if (!is_below(job.leaf, id)) return;
      const Gpus gone = gpus_of(job);
      for (std::size_t i = 0; i < gone.size(); ++i) held.at(i) -= gone.at(i);
    };
    for (std::size_t i = 0; i < q.givers.size(); ++i) {
      if ((mask >> i & 1) != 0) remove(*q.givers[i]);
    }
    if (account.limit_of[0] >= 0 && sum(held) + need > account.limit_of[0]) return true;
    if (account.limit_of.at(p) >= 0 && held.at(p) + need > account.limit_of.at(p)) return true;
  }
  return false;
}

bool Exhaustive::assign(const std::vector<int>& pods, std::size_t next,
                        std::vector<int>& free) const {
  if (next == pods.size()) return true;
  for (int& here : free) {
    if (here < pods[next]) continue;
    here -= pods[next];
    const bool done = assign(pods, next + 1, free);
    here += pods[next];
    if (done) return true;
  }
  return false;
}

bool Exhaustive::fits(const Question& q, std::size_t mask, bool without_ending) const {
  std::map<NodeId, std::uint64_t> gone;
  const auto remove = [&](const Job& job) {
    for (const PodSlot& slot : job.slots) {
      if (slot.node) gone[slot.node] |= slot.gpu_mask;
    }
  };
  for (std::size_t i = 0; i < q.givers.size(); ++i) {
    if ((mask >> i & 1) != 0) remove(*q.givers[i]);
  }
  for (const Job* const job : ending_) {
    if (without_ending) remove(*job);
  }
  std::vector<int> free;
  for (const auto& [id, node] : nodes_) {
    if (!node.usable || node.product != q.product) continue;
    const auto left = gone.find(id);
    const std::uint64_t held = node.held & ~(left == gone.end() ? 0 : left->second);
    free.push_back(node.gpus - std::popcount(held | node.claimed));
  }
  return assign(q.claimant.pods, 0, free) && !has_rule(q, mask, without_ending);
}

bool Exhaustive::some_set_fits(const Question& q) const {
  const std::size_t all = (std::size_t{1} << q.givers.size()) - 1;
  if (!fits(q, all, true)) return false;
  std::vector<bool> seen(all + 1);
  std::vector<std::size_t> open{0};
  seen[0] = true;
  while (!open.empty()) {
    const std::size_t mask = open.back();
    open.pop_back();
    if (fits(q, mask, true)) return true;
    for (std::size_t i = 0; i < q.givers.size(); ++i) {
      const std::size_t then = mask | std::size_t{1} << i;
      if (seen[then] || !may_give(q, mask, i)) continue;
      seen[then] = true;
      open.push_back(then);
    }
  }
  return false;
}

bool Exhaustive::is_possible_giver(const Question& q, const Job& job) const {
  return job.in_attempt() && job.state != JobState::kEnding && !job.fixed &&
         !books_.is_victim(job) &&
         (again_ == Again::kToo || (!books_.was_victim(job) && !books_.has_given(job))) &&
         is_below(job.leaf, q.reach) && !is_below(q.claimant.leaf, job.leaf) &&
         gpus_of(job).at(static_cast<std::size_t>(q.product)) > 0;
}

Place Exhaustive::find_on(const Job& claimant, int product) const {
  const int need = total_of(claimant.pods);
  Question q{claimant, product, reach_of(claimant.leaf, product, need), {}};
  if (!q.reach || breaks_promise(q)) return Place::kNone;
  for (const auto& [id, job] : books_.jobs) {
    if (is_possible_giver(q, job)) q.givers.push_back(&job);
  }
  if (q.givers.size() > kMostGivers) return Place::kTooLarge;
  if (fits(q, 0, false)) return Place::kFree;
  if (ending_.empty() && fits(q, 0, true)) return Place::kSoon;
  return some_set_fits(q) ? Place::kTaken : Place::kNone;
}

Place Exhaustive::find(const Job& claimant) const {
  Place best = Place::kNone;
  for (int product = 1; product < static_cast<int>(kProducts.size()); ++product) {
    if (!claimant.product.empty() && product_index(claimant.product) != product) continue;
    const Place found = find_on(claimant, product);
    if (found == Place::kFree || found == Place::kTooLarge) return found;
    if (found == Place::kTaken || best == Place::kNone) best = found;
  }
  return best;
}

DurationMs Exhaustive::longest_run_left(TimeMs now) const {
  DurationMs longest = 0;
  for (const auto& [id, job] : books_.jobs) {
    if (!job.in_attempt()) continue;
    longest = std::max(longest, job.started_ms + min_run_ms_ - now);
  }
  return longest;
}

}  // namespace subak::claim_model

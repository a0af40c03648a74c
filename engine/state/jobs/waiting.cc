#include "engine/state/jobs/waiting.h"

#include "core/must.h"

namespace subak::state {

void WaitingCount::Counts::add(const AccountTree& tree, AccountId leaf, std::ptrdiff_t more) {
  const auto change = [more](std::size_t& count) {
    must(more >= 0 || count >= static_cast<std::size_t>(-more), "who leaves was counted");
    count += static_cast<std::size_t>(more);
  };
  change(all);
  for (AccountId id = leaf; id && id != kRootAccount;) {
    std::size_t& count = by_account[id];
    change(count);
    must(count <= all, "an account has no more than there are");
    if (count == 0) by_account.erase(id);
    id = id == kUnassigned ? AccountId() : tree.node(id).parent;
  }
}

std::size_t WaitingCount::Counts::of(AccountId account) const {
  if (account == kRootAccount) return all;
  const auto found = by_account.find(account);
  if (found == by_account.end()) return 0;
  must(found->second > 0 && found->second <= all, "no count is 0");
  return found->second;
}

void WaitingCount::Counts::moved(const AccountTree& tree, AccountId account, AccountId from) {
  const auto count = static_cast<std::ptrdiff_t>(of(account));
  if (count == 0) return;
  add(tree, from, -count);
  add(tree, tree.node(account).parent, count);
}

void WaitingCount::moved(const AccountTree& tree, AccountId account, AccountId from) {
  jobs_.moved(tree, account, from);
  not_accepted_.moved(tree, account, from);
  for (auto& [cluster, counts] : pods_) counts.moved(tree, account, from);
}

void WaitingCount::pods(const AccountTree& tree, ClusterId cluster, AccountId leaf,
                        std::ptrdiff_t more) {
  if (more == 0) return;
  Counts& of_cluster = pods_[cluster];
  of_cluster.add(tree, leaf, more);
  must(of_cluster.all > 0 || of_cluster.by_account.empty(), "no account has a part of nothing");
  if (of_cluster.all == 0) pods_.erase(cluster);
}

std::size_t WaitingCount::pods(ClusterId cluster) const {
  const auto found = pods_.find(cluster);
  return found == pods_.end() ? 0 : found->second.all;
}

std::size_t WaitingCount::pods(ClusterId cluster, AccountId account) const {
  const auto found = pods_.find(cluster);
  return found == pods_.end() ? 0 : found->second.of(account);
}

std::vector<AccountId> WaitingCount::crowded(ClusterId cluster, std::size_t least) const {
  std::vector<AccountId> out;
  const auto found = pods_.find(cluster);
  if (found == pods_.end() || found->second.all < least) return out;
  for (const auto& [account, count] : found->second.by_account) {
    if (count >= least && account != kUnassigned) out.push_back(account);
  }
  return out;
}

}  // namespace subak::state

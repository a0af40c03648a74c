#include "accounting/quota/without.h"

#include <algorithm>

#include "core/must.h"

namespace subak {

void WithoutHoldings::remove(AccountId leaf, ProductId product, MilliGpu amount) {
  must(amount >= 0, "a job holds no less than nothing");
  if (amount == 0) return;
  for (AccountId id = leaf; id; id = tree_.node(id).parent) {
    if (!accounts_.contains(id)) {
      const std::span<const ProductLevel> now = levels(id);
      accounts_.emplace(id, Account{{now.begin(), now.end()}, alloc(id)});
    }
    Account& account = accounts_.at(id);
    const auto level = std::find_if(account.levels.begin(), account.levels.end(),
                                    [&](const ProductLevel& l) { return l.product == product; });
    must(level != account.levels.end() && level->total() >= amount, "what goes is held");
    const MilliGpu running = std::min(level->running, amount);
    level->running -= running;
    level->held -= amount - running;
    account.alloc -= amount;
  }
  add_amount(gone_, product, amount);
}

void WithoutHoldings::remove_job(AccountId leaf, const JobSums& sums) {
  for (AccountId id = leaf; id; id = tree_.node(id).parent) {
    gone_sums_[id] += -sums;
    must(this->sums(id).jobs >= 0, "a job that goes is counted");
  }
}

JobSums WithoutHoldings::gone_sums(AccountId id) const {
  const auto at = gone_sums_.find(id);
  JobSums gone = at == gone_sums_.end() ? JobSums() : at->second;
  if (before_ != nullptr) gone += before_->gone_sums(id);
  return gone;
}

JobSums WithoutHoldings::sums(AccountId id) const {
  JobSums sums = tree_.node(id).jobs.sums;
  sums += gone_sums(id);
  return sums;
}

void WithoutHoldings::note_held(AccountId leaf, ProductId product, MilliGpu amount) {
  must(before_ == nullptr && amount >= 0, "the first layer follows the tree");
  for (AccountId id = leaf; id; id = tree_.node(id).parent) {
    const auto at = accounts_.find(id);
    if (at == accounts_.end()) continue;
    Account& account = at->second;
    account.alloc += amount;
    const auto level = std::find_if(account.levels.begin(), account.levels.end(),
                                    [&](const ProductLevel& l) { return l.product == product; });
    if (level == account.levels.end()) {
      account.levels.push_back({.product = product, .held = amount, .running = 0});
    } else {
      level->held += amount;
    }
  }
}

std::span<const ProductLevel> WithoutHoldings::levels(AccountId id) const {
  const auto at = accounts_.find(id);
  if (at != accounts_.end()) return at->second.levels;
  return before_ != nullptr ? before_->levels(id) : tree_.node(id).holdings.levels();
}

MilliGpu WithoutHoldings::alloc(AccountId id) const {
  const auto at = accounts_.find(id);
  if (at != accounts_.end()) return at->second.alloc;
  return before_ != nullptr ? before_->alloc(id) : tree_.node(id).alloc();
}

MilliGpu WithoutHoldings::borrowed(AccountId id, ProductId product) const {
  return uncovered_of(product, tree_.node(id).quota, levels(id), {});
}

std::optional<Binding> WithoutHoldings::first_binding(const Demand& demand, Asking asking) const {
  std::optional<Binding> first;
  each_rules(tree_, demand, [&](Rules rules, const AccountNode* counted) {
    if (counted != nullptr) {
      rules.levels = levels(counted->id);
      rules.alloc = alloc(counted->id);
      rules.sums = sums(counted->id);
    }
    first = subak::first_binding(rules, demand.amounts, demand.job, asking);
    return first.has_value();
  });
  return first;
}

}  // namespace subak

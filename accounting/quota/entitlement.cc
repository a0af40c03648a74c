#include "accounting/quota/entitlement.h"

#include <algorithm>
#include <map>

#include "accounting/amounts.h"
#include "core/must.h"

namespace subak {
namespace {

MilliGpu total_of(const Rules& rules, ProductId product) {
  return product == kOfAny ? rules.alloc : total_of(rules.levels, product);
}

// Calls fn(Binding) for each rule that binds at one account, until fn returns true. Returns true if
// fn did.
template <class F>
class Judge {
 public:
  Judge(std::span<const ProductDemand> amounts, const JobDemand& job, Asking asking, F& fn)
      : amounts_(amounts), total_(sum_of(amounts)), job_(job), asking_(asking), fn_(fn) {}

  bool operator()(const Rules& rules) {
    if (asking_ == Asking::kStart && rules.held && stop(BindingKind::kHold, rules)) return true;
    if (asking_ == Asking::kSubmit && rules.draining && stop(BindingKind::kDrain, rules)) {
      return true;
    }
    for (const auto& [product, most] : rules.limit) {
      if (limit(rules, product, most)) return true;
    }
    if (rules.borrow && borrow(rules, *rules.borrow)) return true;
    for (const auto& [product, most] : rules.borrow_of) {
      if (borrow_of(rules, product, most)) return true;
    }
    if (rules.jobs != nullptr && job_.jobs > 0 && jobs(rules, *rules.jobs)) return true;
    for (std::size_t i = 0; i < rules.budgets.size() && job_.jobs > 0; ++i) {
      if (!rules.budgets[i].budget.soft && budget(rules, i)) return true;
    }
    return false;
  }

 private:
  bool ever() const { return asking_ == Asking::kSubmit || asking_ == Asking::kReplace; }
  bool tell(const Binding& binding) {
    must(binding.have >= 0 && binding.have <= binding.need, "a rule leaves a part of the demand");
    return fn_(binding);
  }
  bool stop(BindingKind kind, const Rules& rules) {
    return tell({kind, rules.subject, kOfAny, total_, 0, 0, 0, false, true, rules.counted});
  }

  bool jobs(const Rules& rules, const JobLimits& limits) {
    if (limits.jobs && number(rules, *limits.jobs)) return true;
    if (limits.time_ms && time(rules, *limits.time_ms)) return true;
    return limits.gpu_minutes && minutes(rules, *limits.gpu_minutes);
  }

  bool number(const Rules& rules, std::int64_t most) {
    const std::int64_t need = job_.jobs, used = rules.sums.jobs;
    const bool never = need > most;
    if (ever() ? !never : used + need <= most) return false;
    return tell({BindingKind::kJobs, rules.subject, kOfAny, need,
                 std::clamp<std::int64_t>(most - used, 0, need), used, most, never, true,
                 rules.counted, rules.per_user});
  }

  bool time(const Rules& rules, DurationMs most) {
    const DurationMs need = job_.time_limit_ms;
    if (need > 0 && need <= most) return false;
    return tell({BindingKind::kTime, rules.subject, kOfAny, need, std::min(need, most), 0, most,
                 true, true, rules.counted, rules.per_user});
  }

  // Returns when jobs with `rate` milli-GPU will have passed `amount`, rounded up.
  TimeMs passed_at(GpuTime amount, MilliGpu rate) const {
    must(rate > 0, "GPU-minutes in flight are of some GPUs");
    return job_.now + static_cast<DurationMs>((amount.raw() + rate - 1) / rate);
  }

  bool minutes(const Rules& rules, std::int64_t most) {
    if (total_ == 0) return false;
    if (job_.planned_ms == 0) {  // its GPU-minutes have no bound
      return tell({BindingKind::kMinutes, rules.subject, kOfAny, 0, 0, 0, most, true, true,
                   rules.counted, rules.per_user});
    }
    const GpuTime need = GpuTime::of(total_, job_.planned_ms);
    const GpuTime used = rules.sums.in_flight(job_.now), over = used + need - gpu_minutes(most);
    const bool never = need > gpu_minutes(most);
    if (ever() ? !never : over <= GpuTime()) return false;
    const std::int64_t needed = whole_gpu_minutes(need), in_flight = whole_gpu_minutes(used);
    return tell({BindingKind::kMinutes, rules.subject, kOfAny, needed,
                 std::clamp<std::int64_t>(most - in_flight, 0, needed), in_flight, most, never,
                 true, rules.counted, rules.per_user,
                 never ? 0 : passed_at(over, rules.sums.rate)});
  }

  bool budget(const Rules& rules, std::size_t index) {
    const auto& [budget, product] = rules.budgets[index];
    const MilliGpu amount = product == kOfAny ? total_ : amount_of(amounts_, product);
    if (amount == 0) return false;
    Binding binding{BindingKind::kBudget, rules.subject, product};
    binding.most = whole_gpu_minutes(budget.granted);
    // A job without a time limit holds GPU time for a part of its run, and then for the next part.
    const DurationMs limit_ms = job_.time_limit_ms == 0 ? 0 : job_.planned_ms;
    const bool is_sure = limit_ms != 0 || job_.planned_ms == 0;
    binding.never = is_sure && never_holds(budget, amount, limit_ms, job_.civil);
    binding.any_product = product == kOfAny;
    binding.counted = rules.counted;
    binding.budget = &budget;
    if (ever() || index >= rules.books.size()) {
      binding.need = whole_gpu_minutes(GpuTime::of(amount, limit_ms));
      return binding.never && tell(binding);
    }
    const BudgetBook& book = rules.books[index];
    const TimeMs end = job_.planned_ms == 0 ? kEndless : job_.now + job_.planned_ms;
    const auto lack = book.lack(amount, {job_.now, std::min(end, kEndless)}, job_.now);
    if (!lack) return false;
    const BudgetFigures now = book.at(job_.now);
    binding.need = job_.planned_ms == 0 ? 0 : whole_gpu_minutes(lack->need);
    const std::int64_t left = lack->left > GpuTime() ? whole_gpu_minutes(lack->left) : 0;
    binding.have = std::min(left, binding.need);
    binding.used = std::max<std::int64_t>(0, whole_gpu_minutes(now.spent + now.held));
    binding.allows_at = binding.never || lack->allows_at >= kEndless ? 0 : lack->allows_at;
    binding.period_end_ms = lack->span.to_ms;
    return tell(binding);
  }

  bool limit(const Rules& rules, ProductId product, MilliGpu most) {
    const MilliGpu need = product == kOfAny ? total_ : amount_of(amounts_, product);
    if (need == 0) return false;
    const MilliGpu used = total_of(rules, product);
    const bool never = need > most;
    if (ever() ? !never : used + need <= most) return false;
    return tell({BindingKind::kLimit, rules.subject, product, need,
                 std::max<MilliGpu>(0, most - used), used, most, never, product == kOfAny,
                 rules.counted, rules.per_user});
  }

  // True if the quota may cover the complete demand on some product, even if the account borrows
  // GPUs of other products.
  bool may_be_covered(const Rules& rules) const {
    MilliGpu rest = 0;  // the held part that no quota of its product covers
    for (const ProductLevel& level : rules.levels) {
      rest += std::max<MilliGpu>(0, level.total() - amount_of(rules.quota, level.product));
    }
    MilliGpu most = 0;
    for (const auto& [product, amount] : rules.quota) {
      if (product != kOfAny) most = std::max(most, amount - total_of(rules, product));
    }
    return total_ <= most + std::max<MilliGpu>(0, amount_of(rules.quota, kOfAny) - rest);
  }

  // A demand without a product is compared with the sum of all quotas plus `most`. Only this rule
  // is certain to bind, because the placement decides the product.
  bool borrow(const Rules& rules, MilliGpu most) {
    if (total_ == 0) return false;
    must(most >= 0 && rules.alloc >= 0, "nothing that is held or may be borrowed is negative");
    const MilliGpu quota = sum_of(rules.quota);
    if (amount_of(amounts_, kOfAny) > 0) {
      const MilliGpu all = quota + most;
      const bool never = total_ > all;
      if (ever() ? !never : rules.alloc + total_ <= all) return false;
      if (!never && may_be_covered(rules)) return false;
      return tell({BindingKind::kBorrow, rules.subject, kOfAny, total_,
                   std::max<MilliGpu>(0, all - rules.alloc),
                   std::max<MilliGpu>(0, rules.alloc - quota), most, never, true, rules.counted});
    }
    const ProductId product = amounts_.size() == 1 ? amounts_.front().first : kOfAny;
    return borrows_more(rules, product, total_, most, [&](auto levels, auto demand) {
      return uncovered(rules.quota, levels, demand);
    });
  }

  // Checks the bound of one product, which counts the uncovered part of that product. A demand
  // without a product passes, because it may be placed on another product.
  bool borrow_of(const Rules& rules, ProductId product, MilliGpu most) {
    const MilliGpu need = amount_of(amounts_, product);
    if (need == 0) return false;
    return borrows_more(rules, product, need, most, [&](auto levels, auto demand) {
      return uncovered_of(product, rules.quota, levels, demand);
    });
  }

  // `uncovered_by` returns the uncovered part of levels and a demand; the rule allows `most` of it.
  // `need`: the part of the demand that the rule counts.
  template <class Uncovered>
  bool borrows_more(const Rules& rules, ProductId product, MilliGpu need, MilliGpu most,
                    const Uncovered& uncovered_by) {
    using Levels = std::span<const ProductLevel>;
    const MilliGpu now = uncovered_by(rules.levels, std::span<const ProductDemand>());
    const MilliGpu then = uncovered_by(rules.levels, amounts_);
    const MilliGpu alone = uncovered_by(Levels(), amounts_);
    const MilliGpu beyond = (ever() ? alone : then) - most;
    // GPUs borrowed before the rule existed do not stop a demand that quota covers.
    if (beyond <= 0 || then == now) return false;
    return tell({BindingKind::kBorrow, rules.subject, product, need,
                 std::max<MilliGpu>(0, need - beyond), now, most, alone > most, false,
                 rules.counted});
  }

  const std::span<const ProductDemand> amounts_;
  const MilliGpu total_;
  const JobDemand& job_;
  const Asking asking_;
  F& fn_;
};

template <class F>
void each_binding(const AccountTree& tree, const Demand& demand, Asking asking, F fn) {
  Judge<F> judge(demand.amounts, demand.job, asking, fn);
  each_rules(tree, demand, [&](const Rules& rules, const AccountNode*) { return judge(rules); });
}

// Returns a function that stores the first binding in `first`, and then stops the walk.
auto keep_in(std::optional<Binding>& first) {
  return [&first](const Binding& binding) {
    first = binding;
    return true;
  };
}

// --- promises ------------------------------------------------------------------------------------

using Sums = std::map<ProductId, MilliGpu>;

void add(Sums& sum, std::span<const ProductDemand> amounts) {
  for (const auto& [product, amount] : amounts) sum[product] += amount;
}

std::optional<Overpromise> judge_promises(AccountId parent, std::span<const ProductDemand> own,
                                          const Sums& promised) {
  Overpromise over{parent, 0, amount_of(own, kOfAny)};
  for (const auto& [product, amount] : promised) {
    const MilliGpu held = product == kOfAny ? 0 : amount_of(own, product);
    over.beyond += std::max<MilliGpu>(0, amount - held);
  }
  if (over.beyond <= over.any) return std::nullopt;
  return over;
}

}  // namespace

MilliGpu Demand::total() const { return sum_of(amounts); }

std::vector<Binding> bindings(const AccountTree& tree, const Demand& demand, Asking asking) {
  std::vector<Binding> out;
  each_binding(tree, demand, asking, [&](const Binding& binding) {
    out.push_back(binding);
    return false;
  });
  return out;
}

std::optional<Binding> first_binding(const AccountTree& tree, const Demand& demand, Asking asking) {
  std::optional<Binding> first;
  each_binding(tree, demand, asking, keep_in(first));
  return first;
}

std::optional<Binding> first_binding(const Rules& rules, std::span<const ProductDemand> amounts,
                                     const JobDemand& job, Asking asking) {
  std::optional<Binding> first;
  auto keep = keep_in(first);
  Judge<decltype(keep)>(amounts, job, asking, keep)(rules);
  return first;
}

std::optional<Binding> unlent(const AccountTree& tree, const Demand& demand,
                              const std::function<MilliGpu(ProductId)>& idle_of) {
  for (const UnlentQuota& quota : tree.quota_sums().unlent()) {
    const ProductId product = quota.product();
    const MilliGpu need = product == kOfAny ? demand.total() : amount_of(demand.amounts, product);
    if (need == 0 || quota.total() == 0) continue;
    const MilliGpu idle = idle_of(product);
    const MilliGpu then = quota.total_with(tree.nodes(), demand.leaf, demand.amounts);
    const MilliGpu missing = then - (idle - need);
    const MilliGpu missing_before = std::max<MilliGpu>(0, quota.total() - idle);
    const MilliGpu taken = missing - missing_before;
    if (taken <= 0) continue;
    must(taken <= need, "a demand takes no more than it asks for");
    Binding binding{BindingKind::kLend, quota.largest(tree.nodes()), product, need, need - taken};
    binding.used = idle;
    binding.most = quota.total();
    // Quota by name may cover the demand on another product.
    binding.any_product = product == kOfAny && !tree.quota_sums().names_products();
    return binding;
  }
  return std::nullopt;
}

Rules rules_of(const AccountNode& node) {
  return {node.id,
          node.quota,
          node.limits.gpus,
          node.lending.borrow,
          node.lending.borrow_of,
          node.spec.held,
          node.spec.draining,
          node.holdings.levels(),
          node.alloc(),
          node.limits.extra != nullptr ? &node.limits.extra->jobs : nullptr,
          node.jobs.sums,
          node.id,
          false,
          node.limits.extra != nullptr ? std::span(node.limits.extra->budgets)
                                       : std::span<const ExtraLimits::OfProduct>(),
          node.jobs.budgets};
}

Rules user_rules_of(const AccountNode& account, const AccountNode* user) {
  must(account.limits.extra != nullptr, "the account has limits for each user");
  Rules rules;
  rules.subject = account.id;
  rules.limit = account.limits.extra->user_gpus;
  rules.jobs = &account.limits.extra->user_jobs;
  rules.per_user = true;
  if (user == nullptr) return rules;
  rules.levels = user->holdings.levels();
  rules.alloc = user->alloc();
  rules.sums = user->jobs.sums;
  rules.counted = user->id;
  return rules;
}

AccountId draining(const AccountTree& tree, AccountId leaf) {
  while (leaf && !tree.node(leaf).spec.draining) leaf = tree.node(leaf).parent;
  return leaf;
}

bool covers(const AccountNode& node, std::span<const ProductDemand> demand) {
  const MilliGpu total = sum_of(demand);
  must(total >= 0, "a demand is not negative");
  // A quick check first: no quota covers more than its total.
  if (node.alloc() + total > node.quota_total) return false;
  const bool by_product = amount_of(demand, kOfAny) == 0;
  return uncovered(node.quota, node.holdings.levels(), by_product ? demand : decltype(demand)()) ==
         0;
}

namespace {

// The accounts of a path, from the leaf up, without the root.
using Path = std::vector<AccountId>;

// Checks the accounts of the path below index `top`. Returns 0 if the demand is within quota at all
// of them, else the index above the one where it is not.
std::size_t beyond_quota_at(const AccountTree& tree, const Path& path, std::size_t top,
                            const Demand& demand) {
  bool above_speaks = false;  // true: the account above has a configured quota
  for (std::size_t i = top; i-- > 0;) {
    const AccountNode& node = tree.node(path[i]);
    if (node.quota_total == 0) return above_speaks ? 0 : i + 1;
    if (!covers(node, demand.amounts)) return i + 1;
    above_speaks = !node.spec.quota.empty();
  }
  return above_speaks ? 0 : 1;
}

// True if quotas of any product would cover GPUs that other accounts own by name.
bool takes_named(const AccountTree& tree, const Demand& demand,
                 std::span<const ProductDemand> installed) {
  return std::any_of(demand.amounts.begin(), demand.amounts.end(), [&](const ProductDemand& more) {
    const NamedQuota* const quota = tree.quota_sums().named(more.first);
    if (quota == nullptr || quota->promised() == 0) return false;
    const MilliGpu added = quota->more_of_any(tree.nodes(), demand.leaf, more.second);
    const MilliGpu of_any = quota->of_any() + added;
    return added > 0 && of_any + quota->promised() > amount_of(installed, more.first);
  });
}

}  // namespace

AccountId reach(const AccountTree& tree, const Demand& demand,
                std::span<const ProductDemand> installed) {
  Path path;
  for (AccountId id = demand.leaf; id && id != kRootAccount; id = tree.node(id).parent) {
    path.push_back(id);
  }
  std::size_t top = path.size();
  while (top > 0) {
    std::size_t beyond = beyond_quota_at(tree, path, top, demand);
    if (beyond == 0 && top == path.size() && takes_named(tree, demand, installed)) beyond = top;
    if (beyond == 0) return top == path.size() ? kRootAccount : path[top];
    must(beyond <= top, "the reach ends at or below where it was sought");
    top = beyond - 1;
  }
  return AccountId();
}

std::optional<Overpromise> overpromised(const AccountTree& tree, std::string_view path,
                                        std::span<const ProductDemand> quota) {
  const AccountId id = tree.find(path);
  Sums children;
  if (id) {
    for (const AccountId child : tree.node(id).children) add(children, tree.node(child).quota);
  }
  if (!quota.empty()) {
    if (auto over = judge_promises(id, quota, children)) return over;
  }
  // The quota that the account promises to the accounts above it.
  Sums worth = std::move(children);
  if (!quota.empty()) {
    worth.clear();
    add(worth, quota);
  }
  AccountId below = id;
  for (AccountId a = parent_of(tree, path); a; a = tree.node(a).parent) {
    for (const AccountId child : tree.node(a).children) {
      if (child != below) add(worth, tree.node(child).quota);
    }
    const AccountNode& node = tree.node(a);
    if (!node.spec.quota.empty()) return judge_promises(a, node.quota, worth);
    below = a;
  }
  return std::nullopt;
}

}  // namespace subak

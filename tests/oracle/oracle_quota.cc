#include "tests/oracle/oracle_quota.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/decimal.h"
#include "tests/oracle/oracle_text.h"

namespace subak::sim {
MilliGpu cost(const GangRequest& request) {
  MilliGpu sum = 0;
  for (const PodGroup& g : request.groups) sum += g.count * g.shape.gpus * kMilliPerGpu;
  return sum;
}

std::string only_product(const GangRequest& request) {
  std::string product;
  for (const PodGroup& g : request.groups) {
    if (g.shape.kind == GpuKind::kNone) continue;
    if (g.shape.products.size() != 1) return "";
    if (product.empty()) product = g.shape.products[0];
  }
  return product;
}

MilliGpu OracleQuota::named(AccountId id, const std::string& product) const {
  MilliGpu below = 0;
  for (const Oracle::Account& a : o_.accounts_) {
    if (a.live && a.parent == id) below += named(a.id, product);
  }
  return std::max(amount(o_.account(id)->spec.quota, product), below);
}

MilliGpu OracleQuota::held_by_name(AccountId id, const std::string& product, AccountId leaf,
                                   MilliGpu more) const {
  MilliGpu children = 0;
  for (const Oracle::Account& a : o_.accounts_) {
    if (a.live && a.parent == id) children += held_by_name(a.id, product, leaf, more);
  }
  const MilliGpu holds = amount(o_.held(id, {}), product) + (o_.below(leaf, id) ? more : 0);
  return std::max(std::min(amount(o_.account(id)->spec.quota, product), holds), children);
}

MilliGpu OracleQuota::unlent(AccountId id, const std::string& product, AccountId leaf,
                             const ProductAmount& more) const {
  const Oracle::Account& a = *o_.account(id);
  MilliGpu children = 0;
  for (const Oracle::Account& child : o_.accounts_) {
    if (child.live && child.parent == id) children += unlent(child.id, product, leaf, more);
  }
  std::optional<MilliGpu> lend = bound_in(a.spec.lend, kAnyProduct);
  if (const auto of = bound_in(a.spec.lend, product)) lend = std::min(lend.value_or(*of), *of);
  if (!lend || id == kRootAccount) return children;
  const ProductAmounts holds = o_.held(id, o_.below(leaf, id) ? more : ProductAmount());
  MilliGpu used = 0;
  for (const ProductAmount& h : holds) used += product == kAnyProduct ? h.milligpu : 0;
  used = product == kAnyProduct ? used - o_.uncovered(id, holds) : amount(holds, product);
  const MilliGpu all = product == kAnyProduct ? o_.quota(id) : amount(o_.quota_list(a), product);
  return std::max({MilliGpu{0}, all - std::min(all, used) - *lend, children});
}

MilliGpu OracleQuota::idle(const std::string& product) const {
  MilliGpu sum = 0;
  for (const Oracle::Node& n : o_.nodes_) {
    const bool usable =
        n.there && n.spec.ready && n.spec.unfit.empty() && !n.spec.unschedulable && !n.drained;
    if (!usable || (product != kAnyProduct && n.spec.product != product)) continue;
    MilliGpu free = (n.spec.gpus - n.spec.unhealthy_gpus) * kMilliPerGpu;
    for (const Oracle::Slot& s : o_.slots_) {
      if (s.at.node == n.id) free -= s.at.milligpu;
    }
    sum += std::max<MilliGpu>(0, free);
  }
  return sum;
}

bool OracleQuota::leaves_unlent(const Oracle::Job& j, const std::string& product) const {
  const ProductAmount more{product, cost(j.request)};
  for (const std::string& of : {std::string(kAnyProduct), product}) {
    const MilliGpu before = unlent(kRootAccount, of, j.leaf, {}) - idle(of);
    const MilliGpu then = unlent(kRootAccount, of, j.leaf, more) - idle(of) + more.milligpu;
    if (then > std::max<MilliGpu>(0, before) && unlent(kRootAccount, of, j.leaf, {}) > 0)
      return false;
  }
  return true;
}

AccountId OracleQuota::account_of(const Oracle::Job& j) const {
  const Oracle::Account& leaf = *o_.account(j.leaf);
  return leaf.spec.user ? leaf.parent : leaf.id;
}

bool OracleQuota::may_claim(const Oracle::Job& claimant, ClaimRight right) const {
  if (o_.policy_.order != OrderPolicy::kTargetShare) return false;
  if (right == ClaimRight::kReclaim) return o_.policy_.reclaim;
  const std::string& path = o_.account(account_of(claimant))->spec.path;
  const auto is_for = [&](const PriorityClass& c) {
    return c.accounts.empty() ||
           std::any_of(c.accounts.begin(), c.accounts.end(), [&](const std::string& a) {
             return path == a || path.starts_with(a + ".");
           });
  };
  const auto& all = o_.policy_.priority_classes;
  return claimant.has_class && std::any_of(all.begin(), all.end(), [&](const PriorityClass& c) {
           return c.preempts && c.priority == claimant.priority && is_for(c);
         });
}

bool OracleQuota::is_served_first(const Oracle::Job& chosen) const {
  if (!may_claim(chosen, ClaimRight::kReclaim)) return false;
  const Oracle::Choice turn = o_.choose(kRootAccount);
  if (turn.job == nullptr || turn.within || turn.job->id == chosen.id) return false;
  bool entitled = false;
  for (const Oracle::Account* a = o_.account(chosen.leaf); a && !o_.below(turn.job->leaf, a->id);
       a = o_.account(a->parent)) {
    entitled = o_.quota(a->id) > 0;
    if (entitled && !o_.covers(a->id, chosen)) return false;
  }
  return entitled;
}

std::string OracleQuota::why_not(const Oracle::Job& claimant, ClaimRight right,
                                 const Oracle::Job& v) const {
  if (v.origin != JobOrigin::kApi && v.origin != JobOrigin::kPods) return "not started by Subak";
  if (v.request.terms.not_preemptible) return "not preemptible";
  if (right == ClaimRight::kClass) {
    if (account_of(v) != account_of(claimant)) return "of another account, by class";
    return v.priority < claimant.priority ? "" : "of no lower priority, by class";
  }
  if (v.leaf == claimant.leaf) return "of the same account";
  if (o_.borrows(v.leaf) || names_products()) return "";
  return "of " + o_.account(v.leaf)->spec.path + ", within quota, for " +
         o_.account(claimant.leaf)->spec.path;
}

bool OracleQuota::is_outside_event(const fact::Body& body) const {
  const auto job = [&](JobId id) -> const Oracle::Job& {
    return *std::find_if(o_.jobs_.begin(), o_.jobs_.end(),
                         [&](const Oracle::Job& j) { return j.id == id; });
  };
  const auto gives = [&](JobId id) { return job(id).stop == Cause::kPreempted; };
  bool inside = std::holds_alternative<fact::AttemptStarted>(body) ||
                std::holds_alternative<fact::Claimed>(body) ||
                std::holds_alternative<fact::Charged>(body) ||
                std::holds_alternative<fact::NodeBilled>(body) ||
                std::holds_alternative<fact::Reserved>(body) ||
                std::holds_alternative<fact::PodAdded>(body) ||
                std::holds_alternative<fact::PodRunning>(body);
  if (const auto* const f = std::get_if<fact::StopAsked>(&body)) {
    inside = f->cause == Cause::kPreempted;
  } else if (const auto* const ended = std::get_if<fact::AttemptEnded>(&body)) {
    inside = ended->cause == Cause::kPreempted || gives(ended->id);
  } else if (const auto* const gone = std::get_if<fact::PodGone>(&body)) {
    inside = gives(gone->job);
  } else if (const auto* const moved = std::get_if<fact::JobMoved>(&body)) {
    inside = moved->to != JobState::kDone && job(moved->id).last.taken_at == o_.calm_.events;
  } else if (const auto* const bound = std::get_if<fact::PodBound>(&body)) {
    inside = std::any_of(o_.slots_.begin(), o_.slots_.end(), [&](const Oracle::Slot& s) {
      return s.job == bound->job && s.rank == bound->rank && s.at == bound->slot;
    });
  }
  return !inside;
}

bool OracleQuota::is_fixed(const Oracle::Job& j) {
  const bool ours = j.origin == JobOrigin::kApi || j.origin == JobOrigin::kPods;
  if (!ours || j.request.terms.not_preemptible) return true;
  return j.origin == JobOrigin::kPods &&
         std::any_of(j.pods.begin(), Oracle::ranks_end(j),
                     [](const Oracle::Pod& p) { return p.live && !p.controlled; });
}

ProductAmounts OracleQuota::fixed(AccountId id, bool own, AccountId leaf,
                                  const ProductAmount& more) const {
  std::map<std::string, MilliGpu> sums;
  const auto counts = [&](AccountId of) {
    if (of == kUnassigned) return id == kRootAccount;
    return own ? of == id : o_.below(of, id);
  };
  for (const Oracle::Slot& s : o_.slots_) {
    const auto j = std::find_if(o_.jobs_.begin(), o_.jobs_.end(),
                                [&](const Oracle::Job& other) { return other.id == s.job; });
    const auto n = std::find_if(o_.nodes_.begin(), o_.nodes_.end(),
                                [&](const Oracle::Node& node) { return node.id == s.at.node; });
    if (is_fixed(*j) && counts(j->leaf)) sums[n->spec.product] += s.at.milligpu;
  }
  if (leaf && counts(leaf)) sums[more.product] += more.milligpu;
  ProductAmounts out;
  for (const auto& [product, milligpu] : sums) out.push_back({product, milligpu});
  return out;
}

MilliGpu OracleQuota::needs_below(AccountId id, const std::string& product, AccountId leaf,
                                  const ProductAmount& more) const {
  MilliGpu sum = 0;
  for (const ProductAmount& f : fixed(id, true, leaf, more)) {
    if (product == kAnyProduct || f.product == product) sum += f.milligpu;
  }
  for (const Oracle::Account& child : o_.accounts_) {
    if (child.live && child.parent == id) sum += need(child.id, product, leaf, more);
  }
  return sum;
}

MilliGpu OracleQuota::need(AccountId id, const std::string& product, AccountId leaf,
                           const ProductAmount& more) const {
  const Oracle::Account& a = *o_.account(id);
  if (a.spec.quota.empty()) return needs_below(id, product, leaf, more);
  const ProductAmounts holds = fixed(id, false, leaf, more);
  if (product == kAnyProduct) return o_.quota(id) + o_.uncovered(id, holds);
  return std::max(amount(a.spec.quota, product), amount(holds, product));
}

bool OracleQuota::breaks_promise(const Oracle::Job& j, const std::string& product) const {
  if (!o_.policy_.reclaim || o_.policy_.order != OrderPolicy::kTargetShare) return false;
  if (!is_fixed(j) || o_.quota(kRootAccount) == 0 || is_covered(j, product)) return false;
  const ProductAmount more{product, cost(j.request)};
  for (const Oracle::Account* a = o_.account(j.leaf); a; a = o_.account(a->parent)) {
    const bool root = a->id == kRootAccount;
    const bool promises =
        std::any_of(o_.accounts_.begin(), o_.accounts_.end(),
                    [&](const Oracle::Account& c) { return c.live && c.parent == a->id; });
    if (!promises || (!root && a->spec.quota.empty())) continue;
    for (const std::string& of : {std::string(kAnyProduct), product}) {
      const bool by_name = of != kAnyProduct;
      if (by_name && named(kRootAccount, of) == 0) continue;
      if (by_name && !root && amount(a->spec.quota, kAnyProduct) > 0) continue;
      MilliGpu bound = by_name ? amount(a->spec.quota, of) : o_.quota(a->id);
      if (root) {
        bound = 0;
        for (const Oracle::Node& n : o_.nodes_) {
          if (n.there && (!by_name || n.spec.product == of)) bound += n.spec.gpus * kMilliPerGpu;
        }
      }
      const MilliGpu before = needs_below(a->id, of, AccountId(), {});
      const MilliGpu then = needs_below(a->id, of, j.leaf, more);
      if (then > bound && then > before) return true;
    }
  }
  return false;
}

bool OracleQuota::takes_named(const Oracle::Job& j, const std::string& product) const {
  MilliGpu installed = 0, promised = 0, before = 0, then = 0;
  for (const Oracle::Node& n : o_.nodes_) {
    if (n.there && n.spec.product == product) installed += n.spec.gpus * kMilliPerGpu;
  }
  for (const Oracle::Account& a : o_.accounts_) {
    if (!a.live || a.parent != kRootAccount) continue;
    promised += named(a.id, product);
    const auto of_any = [&](MilliGpu more) {
      const MilliGpu holds =
          amount(o_.held(a.id, {}), product) + (o_.below(j.leaf, a.id) ? more : 0);
      return std::min(amount(o_.quota_list(a), kAnyProduct),
                      holds - held_by_name(a.id, product, j.leaf, more));
    };
    before += of_any(0);
    then += of_any(cost(j.request));
  }
  return promised > 0 && then > before && then + promised > installed;
}

bool OracleQuota::covered_somewhere(const Oracle::Job& j) const {
  std::set<std::string> products;
  for (const Oracle::Node& n : o_.nodes_) products.insert(n.spec.product);
  return std::any_of(products.begin(), products.end(), [&](const std::string& product) {
    return o_.fits(j, product) && o_.allowed(j, product) && is_covered(j, product);
  });
}

bool OracleQuota::is_covered(const Oracle::Job& j, const std::string& product) const {
  if (takes_named(j, product)) return false;
  bool below_speaks = true;  // until an account with quota is met
  for (const Oracle::Account* a = o_.account(j.leaf); a->parent; a = o_.account(a->parent)) {
    if (o_.quota(a->id) == 0) continue;
    if (below_speaks && a->spec.quota.empty()) return false;
    below_speaks = false;
    if (o_.uncovered(a->id, o_.held(a->id, {product, cost(j.request)})) > 0) return false;
  }
  return !below_speaks;
}

bool OracleQuota::names_products() const {
  return std::any_of(o_.accounts_.begin(), o_.accounts_.end(), [](const Oracle::Account& a) {
    return std::any_of(a.spec.quota.begin(), a.spec.quota.end(),
                       [](const ProductAmount& q) { return q.product != kAnyProduct; });
  });
}

}  // namespace subak::sim

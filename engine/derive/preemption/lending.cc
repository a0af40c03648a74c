#include "engine/derive/preemption/lending.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>

#include "accounting/amounts.h"
#include "accounting/quota/without.h"
#include "core/must.h"
#include "engine/derive/preemption/preemptible.h"
#include "placement/fleet/queries.h"

namespace subak::derive {
namespace {

// The first account with a quota, from this one up. None: there is none.
AccountId first_with_quota(const State& s, AccountId id) {
  while (id && s.tree().node(id).quota_total == 0) id = s.tree().node(id).parent;
  return id;
}

// Returns the most GPUs of one product that jobs of the account may have to give back.
MilliGpu borrowed_at(const State& s, AccountId account, ProductId product) {
  const MilliGpu beyond = WithoutHoldings(s.tree()).borrowed(account, product);
  const NamedQuota* const named = s.tree().quota_sums().named(product);
  if (named == nullptr) return beyond;
  const MilliGpu by_any =
      named->of_any() + named->promised() - totals_of(s.fleet(), product).installed;
  const MilliGpu here = total_of(s.tree().node(account).holdings.levels(), product);
  return std::max(beyond, std::min(by_any, here));
}

using Unrecalled = decltype(AccountRow::Lending::not_recallable);

Unrecallable why_never(const state::Job& job) {
  if (job.origin == JobOrigin::kForeign) return Unrecallable::kForeign;
  if (job.origin == JobOrigin::kAdopted) return Unrecallable::kAdopted;
  return may_be_ended(job) ? Unrecallable::kMarked : Unrecallable::kBare;
}

// Returns the GPUs of jobs that are never asked to end: at or below each account, and at
// kUnassigned.
std::map<AccountId, Unrecalled> unrecalled_of(const State& s) {
  std::map<AccountId, Unrecalled> out;
  each_holder(s, [&](const state::Job& job) {
    if (can_be_preempted(s, job)) return;
    MilliGpu amount = 0;
    for (const state::Pod& pod : job.pods) amount += pod.holds_slot() ? pod.slot.milligpu : 0;
    const auto why = static_cast<std::size_t>(why_never(job));
    if (job.leaf == kUnassigned) out[kUnassigned][why] += amount;
    for (AccountId id = job.leaf; id && id != kUnassigned; id = s.tree().node(id).parent)
      out[id][why] += amount;
  });
  return out;
}

MilliGpu sum_of(const Unrecalled& amounts) {
  return std::accumulate(amounts.begin(), amounts.end(), MilliGpu{0});
}

// Returns the borrowed GPUs that cannot be reclaimed. Jobs that may be asked to end give first.
Unrecalled borrowed_for_good(const AccountRow& row, const Unrecalled& never) {
  MilliGpu rest = row.lending.borrowed - (row.held + row.running - sum_of(never));
  Unrecalled out{};
  for (std::size_t why = 0; why < never.size() && rest > 0; ++why) {
    out[why] = std::min(rest, never[why]);
    rest -= out[why];
  }
  must(rest <= 0, "no more than is held is borrowed");
  return out;
}

void add(const Unrecalled& more, Unrecalled& sum) {
  for (std::size_t why = 0; why < more.size(); ++why) sum[why] += more[why];
}

// The part of the account's unused quota for which no GPUs are idle. `idle`: by product.
MilliGpu lent_by(const AccountNode& node, const std::map<ProductId, MilliGpu>& idle) {
  if (node.quota_total == 0) return 0;
  MilliGpu lent = 0, left = 0, beyond = 0;
  for (const auto& [product, free] : idle) {
    const MilliGpu quota = amount_of(node.quota, product);
    const MilliGpu held = total_of(node.holdings.levels(), product);
    const MilliGpu unused = std::max<MilliGpu>(0, quota - held);
    lent += std::max<MilliGpu>(0, unused - free);
    left += std::max<MilliGpu>(0, free - unused);
    beyond += std::max<MilliGpu>(0, held - quota);
  }
  const MilliGpu unused = std::max<MilliGpu>(0, amount_of(node.quota, kOfAny) - beyond);
  return lent + std::max<MilliGpu>(0, unused - left);
}

}  // namespace

void add_lending(const State& s, std::vector<AccountRow>& rows) {
  std::map<ProductId, MilliGpu> idle;
  for (ProductId::rep p = 1; p <= s.fleet().products().size(); ++p) {
    idle.emplace(ProductId(p), totals_of(s.fleet(), ProductId(p)).idle);
  }
  for (AccountRow& row : rows) row.lending.lent = lent_by(s.tree().node(row.id), idle);
  if (!reclaims(s)) return;
  std::map<AccountId, Unrecalled> never = unrecalled_of(s);
  std::map<AccountId, Unrecalled> below;
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {  // children before their parents
    const Unrecalled& children = below[row->id];
    Unrecalled& own = row->lending.not_recallable;
    if (row->id == kRootAccount) {
      own = children;
      add(never[kUnassigned], own);
    } else {
      own = borrowed_for_good(*row, never[row->id]);
      add(sum_of(own) < sum_of(children) ? children : own, below[row->parent]);
    }
  }
}

Loan loan_of(const State& s, const state::Job& job) {
  must(job.in_attempt(), "only a job in an attempt holds GPUs");
  Loan loan;
  if (!reclaims(s) || job.leaf == kUnassigned || !has_quotas(s.tree())) return loan;
  std::map<ProductId, MilliGpu> holds;
  for (const state::Pod& pod : job.pods) {
    if (pod.holds_slot()) holds[s.fleet().product_of(pod.slot.node)] += pod.slot.milligpu;
  }
  // A quota that is only the sum of the children's quotas covers only the children that have a
  // quota.
  const bool covered = is_below_quota(s.tree(), job.leaf);
  const AccountId account = first_with_quota(s, job.leaf);
  for (const auto& [product, amount] : holds) {
    loan.milligpu += covered ? std::min(amount, borrowed_at(s, account, product)) : amount;
  }
  must(loan.milligpu >= 0, "a job borrows no less than nothing");
  if (loan.milligpu > 0 && !is_fixed(s, job))
    loan.from_ms = job.run().started_ms + s.policy().reclaim_min_run_ms;
  return loan;
}

Preemption preemption_of(const State& s, const state::Job& job) {
  must(job.extras().preempted != nullptr, "the job was preempted");
  const state::Preempted& last = *job.extras().preempted;
  Preemption out;
  if (job.state == JobState::kEnding && job.stop == Cause::kPreempted) out.by_ms = job.until_ms;
  out.submit_ms = job.submit_ms;
  out.started_ms = last.started_ms;
  out.milligpu = last.milligpu;
  out.claimant = last.claimant;
  out.asked_ms = last.at_ms;
  out.times = last.times;
  out.right = last.right;
  if (const state::Job* const claimant = s.jobs().find(last.claimant))
    out.priority_class = class_name_of(s, *claimant);
  if (!last.leaf) return out;
  const AccountNode& leaf = s.tree().node(last.leaf);
  out.account = leaf.spec.user ? s.tree().node(leaf.parent).spec.path : leaf.spec.path;
  const AccountId account = first_with_quota(s, last.leaf);
  if (!account) return out;
  const AccountNode& node = s.tree().node(account);
  out.quota = node.quota_total;
  out.used = node.alloc() - sum_of(node.jobs.claimed);
  return out;
}

}  // namespace subak::derive

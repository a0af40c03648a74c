#include "engine/derive/claim_search/givers.h"

#include <algorithm>

#include "accounting/amounts.h"
#include "core/limits.h"
#include "core/must.h"
#include "engine/derive/claims.h"

namespace subak::derive {

Givers::Givers(const State& s, const Candidates& candidates, const state::Job& claimant,
               AccountId reach)
    : s_(s),
      candidates_(candidates),
      claimant_(claimant),
      reach_(reach),
      offered_(&candidates.tree()),
      left_(&candidates.left()) {
  must(is_common(reach), "a claimant is below the account up to which it is entitled");
  const ProductId product = candidates.product();
  if (reach == kRootAccount && s.tree().quota_sums().named(product) != nullptr) {
    const NamedQuota& named = *s.tree().quota_sums().named(product);
    taken_by_any_ = named.of_any() + named.promised() - candidates.claimed() -
                    totals_of(s.fleet(), product).installed;
  }
}

void Givers::offer(const GiverTree& tree) {
  offered_ = &tree;
  first_.clear();
  gave_.clear();
  exhausted_.clear();
  may_fall_below_ = false;
}

std::optional<Giver> Givers::next() {
  auto giver = next_at(reach_, std::nullopt);
  if (giver || may_fall_below_) return giver;
  may_fall_below_ = true;
  exhausted_.clear();
  return next_at(reach_, std::nullopt);
}

std::optional<MilliGpu> Givers::excess(AccountId id) const {
  if (s_.tree().node(id).quota_total == 0) return std::nullopt;
  const ProductId product = candidates_.product();
  const MilliGpu borrowed = left_.borrowed(id, product);
  return std::max(borrowed, std::min(taken_by_any_, total_of(left_.levels(id), product)));
}

std::optional<MilliGpu> Givers::beyond_quota(AccountId id) const {
  if (auto own = excess(id)) return own;
  if (is_common(id) || !is_common(s_.tree().node(id).parent) || is_below_quota(s_.tree(), id))
    return std::nullopt;
  return total_of(left_.levels(id), candidates_.product());
}

bool Givers::is_willing(AccountId leaf) const {
  if (!is_below(s_.tree(), leaf, reach_)) return false;
  bool quota_speaks = false;
  for (AccountId id = leaf; !is_common(id); id = s_.tree().node(id).parent) {
    const auto own = excess(id);
    if (own && *own == 0) return false;
    quota_speaks = quota_speaks || own;
  }
  return !is_common(leaf) && (quota_speaks || !is_below_quota(s_.tree(), leaf));
}

bool Givers::is_exhausted(AccountId id) const {
  if (exhausted_.contains(id)) return true;
  return taken_by_any_ <= 0 && candidates_.is_spent(id) && !is_common(id);
}

void Givers::exhaust(AccountId id) { exhausted_.insert(id); }

AccountId Givers::next_child(AccountId id) const {
  const auto below = offered_->children.find(id);
  if (below == offered_->children.end()) return AccountId();
  AccountId first;
  const auto changed = changed_.find(id);
  if (changed != changed_.end()) {
    for (const AccountId child : changed->second) {
      if (!is_exhausted(child) && (!first || has_more(s_.tree(), left_, child, first)))
        first = child;
    }
  }
  // No job below the other children has given, so these children are still in the order of the
  // list.
  const auto at = std::find_if(below->second.begin(), below->second.end(), [&](AccountId child) {
    return !is_exhausted(child) && (changed == changed_.end() || !changed->second.contains(child));
  });
  if (at != below->second.end() && (!first || has_more(s_.tree(), left_, *at, first))) first = *at;
  return first;
}

std::optional<Giver> Givers::next_at(AccountId id, std::optional<MilliGpu> most) {
  if (is_exhausted(id)) return std::nullopt;
  if (!is_common(id)) {
    const auto own = excess(id);
    if (own && *own == 0) {
      const auto changed = changed_.find(s_.tree().node(id).parent);
      const bool is_changed = changed != changed_.end() && changed->second.contains(id);
      if (taken_by_any_ <= 0 && !is_changed) candidates_.note_spent(id);
      exhaust(id);
      return std::nullopt;
    }
    if (own) most = std::min(most.value_or(*own), *own);
  }
  while (const AccountId child = next_child(id)) {
    if (auto giver = next_at(child, most)) return giver;
  }
  if (!is_common(id) && (most || !is_below_quota(s_.tree(), id))) {
    if (auto giver = next_of(id, most.value_or(limits::kMaxMilliGpu))) return giver;
  }
  exhaust(id);
  return std::nullopt;
}

std::optional<Giver> Givers::next_of(AccountId id, MilliGpu most) {
  const auto own = offered_->jobs.find(id);
  if (own == offered_->jobs.end()) return std::nullopt;
  std::size_t& first = first_[id];
  for (std::size_t i = first; i < own->second.size(); ++i) {
    const Giver& giver = own->second[i];
    if (gave_.contains(giver.job->id)) {
      if (i == first) ++first;
      continue;
    }
    if (!may_fall_below_ && giver.milligpu > most) continue;
    if (i == first) {
      ++first;
    } else {
      gave_.insert(giver.job->id);
    }
    take(giver);
    return giver;
  }
  return std::nullopt;
}

void Givers::take(const Giver& giver) {
  remove_job(s_, *giver.job, left_);
  taken_by_any_ = std::max<MilliGpu>(0, taken_by_any_ - giver.milligpu);
  for (AccountId id = giver.job->leaf; id != reach_; id = s_.tree().node(id).parent) {
    changed_[s_.tree().node(id).parent].insert(id);
  }
}

}  // namespace subak::derive

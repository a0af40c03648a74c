#include "queue/sibling_order.h"

#include <algorithm>
#include <utility>

#include "core/must.h"

namespace subak::ready {

void SiblingOrder::clear() {
  siblings_.clear();
  heap_.clear();
  has_targets_ = false;
}

void SiblingOrder::rank(const PassSetup& setup) {
  setup_ = &setup;
  const std::size_t n = siblings_.size();
  must(n > 0 && heap_.empty(), "siblings are ranked once, if there are any");
  keys_.resize(n);
  if (n == 1) return;
  order_keys(setup.policy, *setup.rule, siblings_, keys_);
  if (n <= kFewSiblings) return;
  for (std::uint32_t i = 0; i < n; ++i) heap_.push_back(i);
  std::make_heap(heap_.begin(), heap_.end(),
                 [&](std::uint32_t a, std::uint32_t b) { return keys_[b] < keys_[a]; });
}

std::size_t SiblingOrder::find(AccountId id) const {
  const auto at = std::lower_bound(siblings_.begin(), siblings_.end(), id,
                                   [](const Sibling& s, AccountId of) { return s.id < of; });
  if (at == siblings_.end() || at->id != id) return siblings_.size();
  return static_cast<std::size_t>(at - siblings_.begin());
}

double SiblingOrder::target(std::size_t at) {
  know_targets();
  must(at < targets_.size(), "only who takes part has a target");
  return targets_[at];
}

void SiblingOrder::know_targets() {
  if (has_targets_) return;
  has_targets_ = true;
  targets_.resize(siblings_.size());
  fill_targets(*setup_->rule, siblings_, targets_);
}

std::size_t SiblingOrder::first() const {
  if (!heap_.empty()) return heap_.front();
  must(!siblings_.empty() && keys_.size() == siblings_.size(), "ranked siblings have a first");
  if (keys_.size() == 1) return 0;
  return static_cast<std::size_t>(std::min_element(keys_.begin(), keys_.end()) - keys_.begin());
}

void SiblingOrder::change(std::size_t at, MilliGpu alloc, MilliGpu next, bool within_quota) {
  must(at < siblings_.size() && keys_.size() == siblings_.size(), "only a ranked key changes");
  Sibling& sibling = siblings_[at];
  sibling.alloc = alloc;
  sibling.next = next;
  sibling.within_quota = within_quota;
  compute_key(at);
}

bool SiblingOrder::settle(std::size_t at, MilliGpu cost, bool within_quota) {
  if (siblings_.size() == 1 || setup_->policy != OrderPolicy::kTargetShare) return true;
  const Sibling& first = siblings_[at];
  if (first.within_quota ? within_quota : cost == first.next) return true;
  // The guessed cost is a lower bound, except for rounding. A start at this instant leaves rounding
  // errors in surpluses that should be equal, so the first child of an account may differ from that
  // of an earlier walk. The cost can then be lower than the guess, and the sibling stays first.
  change(at, first.alloc, cost, false);
  return false;
}

void SiblingOrder::compute_key(std::size_t at) {
  if (siblings_.size() == 1) return;
  // Only its own key changes; the figures shared with its siblings are in its target.
  OrderKey& key = keys_[at];
  order_keys(setup_->policy, *setup_->rule, {&siblings_[at], 1}, {&key, 1});
  if (setup_->policy == OrderPolicy::kTargetShare && key.band == 1) {
    key.first = per_target(siblings_[at], target(at));
  }
  if (!heap_.empty()) sift(at);
}

// Moves a sibling with a changed key to its position in the heap. It is nearly always the first.
void SiblingOrder::sift(std::size_t at) {
  const auto less = [&](std::size_t a, std::size_t b) { return keys_[heap_[a]] < keys_[heap_[b]]; };
  auto i = static_cast<std::size_t>(std::find(heap_.begin(), heap_.end(), at) - heap_.begin());
  must(i < heap_.size(), "the heap has every sibling");
  while (i > 0 && less(i, (i - 1) / 2)) {
    std::swap(heap_[i], heap_[(i - 1) / 2]);
    i = (i - 1) / 2;
  }
  for (;;) {
    std::size_t child = 2 * i + 1;
    if (child + 1 < heap_.size() && less(child + 1, child)) ++child;
    if (child >= heap_.size() || !less(child, i)) return;
    std::swap(heap_[i], heap_[child]);
    i = child;
  }
}

}  // namespace subak::ready

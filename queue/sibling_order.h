// The order of the children of one account in a pass (ReadyQueue::Pass), by the rules of
// accounting/order.h. Candidates (queue/ready_candidates.h) adds the children. The walk of the
// queue then asks for the child with the least key.
// Threads: one at a time. Private to queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "accounting/order.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "queue/ready_figures.h"

namespace subak::ready {

// With at most this number of siblings, a scan of all keys costs less than a heap.
inline constexpr std::size_t kFewSiblings = 16;

// Siblings by id, each with its sort key by the rule of the pass. If there are many siblings, their
// keys are in a heap. A change of one sibling's key changes no other key, because targets
// (accounting/order.h) depend only on shares and surplus, which do not change during the pass.
class SiblingOrder {
 public:
  // Drops all siblings.
  void clear();
  // Appends a sibling, which the caller fills in. Its id must be higher than the id of the last
  // sibling. Call rank() after all siblings are added.
  Sibling& add() { return siblings_.emplace_back(); }
  // Computes all keys. There must be at least one sibling. Call it once after clear(). The setup
  // must outlive the siblings. O(n).
  void rank(const PassSetup& setup);

  // Returns the number of siblings that were added.
  std::size_t size() const { return siblings_.size(); }
  // The siblings by index, which is the order of ids. References are valid until add() or clear().
  const Sibling& operator[](std::size_t at) const { return siblings_[at]; }
  const std::vector<Sibling>& all() const { return siblings_; }
  // Returns the index of a sibling; size() if the sibling was not added.
  std::size_t find(AccountId id) const;
  // Returns the key of a sibling. With only one sibling, no key is computed, and it has no meaning.
  const OrderKey& key(std::size_t at) const { return keys_[at]; }
  // The target share of a sibling, as a part of 1. The first call computes all targets. Call
  // target() only with the policy target-share.
  double target(std::size_t at);
  // True if the keys are in a heap. With a heap, first() reads only a few keys.
  bool has_heap() const { return !heap_.empty(); }
  // Returns the index of the sibling with the least key. There must be at least one sibling.
  std::size_t first() const;
  // Sets the allocation of a sibling and the cost of its next job, and computes its key again.
  void change(std::size_t at, MilliGpu alloc, MilliGpu next, bool within_quota);
  // Compares the key of the first sibling with the true cost of its next job. Until now the key was
  // based on a lower bound of this cost. `at` is the index of this sibling. Returns true if the key
  // is still right; then nothing changes. Otherwise it stores the cost, computes a new key and
  // returns false. Because of rounding, the new key may be smaller than the old key.
  bool settle(std::size_t at, MilliGpu cost, bool within_quota);

 private:
  // Computes the key of this sibling alone. The call does not change any target.
  void compute_key(std::size_t at);
  // Computes all targets, at most once after each rank().
  void know_targets();
  // Restores the heap after a change of one key. To find the sibling is O(n), to move it O(log n).
  void sift(std::size_t at);

  const PassSetup* setup_ = nullptr;
  // The siblings, by id.
  std::vector<Sibling> siblings_;
  // The keys of siblings_, by the same index.
  std::vector<OrderKey> keys_;
  // The targets of siblings_, if has_targets_ is set.
  std::vector<double> targets_;
  // A heap of indexes of siblings_, with the least key on top. Empty if there are few siblings.
  std::vector<std::uint32_t> heap_;
  bool has_targets_ = false;
};

}  // namespace subak::ready

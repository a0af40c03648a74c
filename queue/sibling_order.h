// The children of one node that take part in a pass, and which of them is first. Private to queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "accounting/order.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "queue/ready_figures.h"

namespace subak::ready {

// Up to this many siblings, a scan and new keys cost less than a heap.
inline constexpr std::size_t kFewSiblings = 16;

// Siblings by id, each with its key by the rule of the pass. Many siblings have a heap of their
// keys. A key that changes alone costs O(log n), since its target depends only on shares and
// surplus, which stay for the pass.
class SiblingOrder {
 public:
  // Drops all siblings.
  void clear();
  // Appends one to be filled in, with a higher id than the last one. Call rank() when all are
  // there.
  Sibling& add() { return siblings_.emplace_back(); }
  // Computes all keys. The setup must outlive the siblings. O(n).
  void rank(const PassSetup& setup);

  // The number of siblings that take part.
  std::size_t size() const { return siblings_.size(); }
  // By index, so in the order of ids. Valid until add() or clear().
  const Sibling& operator[](std::size_t at) const { return siblings_[at]; }
  const std::vector<Sibling>& all() const { return siblings_; }
  // Returns the index of a sibling; size() if it takes no part.
  std::size_t find(AccountId id) const;
  // Its key; not computed for a sibling that is alone.
  const OrderKey& key(std::size_t at) const { return keys_[at]; }
  // Its target share of 1; computed for all at the first call. For target-share only.
  double target(std::size_t at);
  // True if every sibling has its key in a heap: then finding the first read only few of them.
  bool has_heap() const { return !heap_.empty(); }
  // Returns the index of the sibling with the least key. There must be one.
  std::size_t first() const;
  // Sets what a sibling holds and what its next job costs, and computes its key again.
  void change(std::size_t at, MilliGpu alloc, MilliGpu next, bool within_quota);
  // Tells the true cost of the first sibling's next job, and if that is within quota. Returns true
  // if its key was right. Else it gets a new key, which is never better.
  bool settle(std::size_t at, MilliGpu cost, bool within_quota);

 private:
  // Only the key of this sibling: targets stay.
  void compute_key(std::size_t at);
  // Computes the targets, once per ranking.
  void know_targets();
  // Restores the heap after one key changed. O(log n), and O(n) to find the sibling.
  void sift(std::size_t at);

  const PassSetup* setup_ = nullptr;
  // By id.
  std::vector<Sibling> siblings_;
  // Of siblings_, by the same index.
  std::vector<OrderKey> keys_;
  // Of siblings_, if has_targets_ is set.
  std::vector<double> targets_;
  // Indexes of siblings_, the least key on top. Empty if there are few.
  std::vector<std::uint32_t> heap_;
  bool has_targets_ = false;
};

}  // namespace subak::ready

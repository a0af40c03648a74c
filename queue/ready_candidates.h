// For each node that one pass visited, its children with startable demand. Private to queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "queue/ready_blocks.h"
#include "queue/ready_figures.h"
#include "queue/ready_memo.h"
#include "queue/sibling_order.h"
#include "queue/visited.h"

namespace subak::ready {

// A child with startable demand. The node itself stands for its own jobs.
struct Child {
  // The child, or the node itself.
  AccountId id;
  // The index of an open kind, set by Blocks::find_witness().
  std::uint32_t witness = 0;
  // The milli-GPU of its next job. For an inner node it is a lower bound until the child is the
  // first.
  MilliGpu next = 0;
  // Until when `next` is valid, if nothing changes below the child.
  TimeMs stands_until = kForever;
  // The priority class of its next job, if `by_class` is set.
  std::int32_t priority = 0;
  // True: it is a user, or the node itself. Among these only the highest class takes part.
  bool by_class = false;
  // Its decayed surplus or usage at the pass's instant, in milli-GPU x ms.
  double value = 0;
};

// One visited node: its children with startable demand, their order, and its next job once that is
// known. Candidates fills in the object. The walk reads it and sets the next jobs.
class Contenders {
 public:
  // Makes this a node that was not visited.
  void clear();
  // The children, by id.
  const std::vector<Child>& children() const { return children_; }
  // Returns the node's next job; nullptr if the walk must find it.
  const NextJob* next() const { return next_known_ ? &next_ : nullptr; }
  // Sets the node's next job. It stays until a block or a change at or below the node.
  void found(const NextJob& next);
  // Takes the next job of the child at index `at` of the order, which is first so far. Returns true
  // if the child's key was right; see SiblingOrder::settle().
  bool settle(std::size_t at, const NextJob& next, bool within_quota);
  // True if the next jobs of all children that could be first are known. This is so if there are
  // few, or at the first call since the node was visited.
  bool all_compared();
  // Returns until when the child `first` of the order stays the first, if only time passes. Returns
  // a time before now if rounding decides. `id` is this node.
  TimeMs stands_until(AccountId id, std::size_t first, const Figures& figures);

 private:
  friend class Candidates;
  // Returns the child with this id; nullptr if it has no startable demand.
  Child* child(AccountId id);

  std::vector<Child> children_;
  // The order of the children that take part.
  SiblingOrder order_;
  // Children whose allocation or next job changed since the last refresh.
  std::vector<AccountId> touched_;
  // The version of the scope that children_ reflects.
  std::uint64_t seen_ = 0;
  // Valid if next_known_ is set.
  NextJob next_;
  bool next_known_ = false;
  // True: children_ is filled in.
  bool expanded_ = false;
  // True: order_ must be made again.
  bool unranked_ = false;
  // True: the node is expanded, and all_compared() was not called yet.
  bool fresh_ = false;
};

// All visited nodes. After refresh() a node has exactly the children with a job that no block and
// no hold of an account stops.
class Candidates {
 public:
  // Begins a pass, which has visited no node yet. All objects are borrowed. `accounts` is above
  // every account id.
  void begin(const Index& index, const Figures& figures, Blocks& blocks, const Memos& memos,
             std::size_t accounts);
  // True if refresh() was called for the node in this pass.
  bool visited(AccountId id) const { return nodes_.find(id) != nullptr; }
  // Returns the node, up to date with the blocks and changes; `scope` is the node's. The first
  // visit reads all children, and a visit after a block all that are left. Other visits read only
  // the children that touch_path() named.
  Contenders& refresh(AccountId id, Scope scope);
  // Returns the children that take part, with their keys. Among the users and the node's own jobs
  // only those with the highest class take part. Call it after refresh(), for a node with children.
  SiblingOrder& order(AccountId id, Contenders& node);
  // Says that the allocation or the next job of `leaf` may have changed, and so those of all nodes
  // above it. O(depth).
  void touch_path(AccountId leaf);

 private:
  void expand(AccountId id, Contenders& node, Scope scope);
  void prefetch_children(AccountId id) const;
  void add_child(Contenders& node, AccountId child, AccountId parent, bool by_class, Scope scope);
  void recheck_all(AccountId id, Contenders& node, Scope scope);
  void recheck_touched(AccountId id, Contenders& node, Scope scope);
  bool live(Child& child, AccountId parent, Scope scope);
  bool live_by_own_jobs(Child& child, Scope scope);
  bool update_class(Child& child, AccountId parent, Scope scope);
  bool may_be_within(MilliGpu quota, MilliGpu alloc) const;

  const Index* index_ = nullptr;
  const Figures* figures_ = nullptr;
  Blocks* blocks_ = nullptr;
  const Memos* memos_ = nullptr;
  Visited<Contenders> nodes_;
};

}  // namespace subak::ready

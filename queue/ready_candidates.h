// For each account that one pass visits: the children with a job that may start, and their order. A
// pass is one round of scheduling decisions. Its walk (queue/ready_walk.h) goes from the root down
// to a job: at each account it asks this class for the first child.
// A block says that a shape, a job or a line (the jobs of one account and one shape) cannot start
// in this pass. A kind is a shape with waiting jobs. A scope has the blocks of shapes and accounts
// that apply to the jobs of one account (queue/ready_blocks.h).
// Threads: one at a time. Private to queue.
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

// A child that has a job which may start. The list of an account's children may have the account
// itself, which stands for its own jobs.
struct Child {
  // The child, or the account itself.
  AccountId id;
  // The position of a kind that is not blocked, as Blocks::find_witness() sets it. Such a kind
  // proves that the child still has a job which may start.
  std::uint32_t witness = 0;
  // The milli-GPU of the child's next job. If the child has children of its own, the value is a
  // lower bound until the child is first.
  MilliGpu next = 0;
  // `next` is valid up to this instant, if nothing changes below the child.
  TimeMs stands_until = kForever;
  // The priority of the child's next job, if `by_class` is set.
  std::int32_t priority = 0;
  // True: the child is a user, or the account itself. Of such children, only those whose next job
  // has the highest priority take part.
  bool by_class = false;
  // The child's decayed surplus or usage at the pass's instant, in milli-GPU x ms.
  double value = 0;
};

// The state of one visited account: its children that have a job which may start, their order, and
// the account's next job once the walk has found it. Candidates fills in the children. The walk
// sets the next jobs.
class Contenders {
 public:
  // Resets the object, as for an account that the pass has not visited.
  void clear();
  // The children, by id.
  const std::vector<Child>& children() const { return children_; }
  // Returns the account's next job; nullptr if the walk must find it.
  const NextJob* next() const { return next_known_ ? &next_ : nullptr; }
  // Sets the account's next job. The job stays the account's next job until a block or a change at
  // or below the account.
  void found(const NextJob& next);
  // Takes the next job of the child at index `at` of the order. Before the call, this child is
  // first in the order. Returns true if the child's key was right; see SiblingOrder::settle().
  bool settle(std::size_t at, const NextJob& next, bool within_quota);
  // True if the walk should call stands_until(), which reads all children: there are few children,
  // or the walk has just read all of them. In the second case, the result is true only at the first
  // call.
  bool all_compared();
  // Returns the instant until which the child at index `first` of the order stays the first, if
  // nothing but the time changes. If the order may depend on rounding, returns a time before now.
  // `id` is the account of this object.
  TimeMs stands_until(AccountId id, std::size_t first, const Figures& figures);

 private:
  friend class Candidates;
  // Returns the child with this id; nullptr if the child has no job that may start.
  Child* child(AccountId id);

  std::vector<Child> children_;
  // The order of the children that take part.
  SiblingOrder order_;
  // Children whose allocation or next job changed since the last refresh.
  std::vector<AccountId> touched_;
  // The version of the scope that children_ reflects.
  std::uint64_t seen_ = 0;
  // The account's next job. next_ is valid only if next_known_ is set.
  NextJob next_;
  bool next_known_ = false;
  // True: children_ is filled in.
  bool expanded_ = false;
  // True: order_ is out of date and must be computed again.
  bool unranked_ = false;
  // True: the account is expanded, and all_compared() was not called yet.
  bool fresh_ = false;
};

// All accounts that the pass has visited. After refresh(), an account has exactly the children with
// a job that neither a block nor an account hold stops. Each Walk owns one object.
class Candidates {
 public:
  // Begins a pass, which has visited no account yet. All objects must outlive the pass. `accounts`
  // is above every account id.
  void begin(const Index& index, const Figures& figures, Blocks& blocks, const Memos& memos,
             std::size_t accounts);
  // True if refresh() was called for the account in this pass.
  bool visited(AccountId id) const { return nodes_.find(id) != nullptr; }
  // Returns the account, up to date with the blocks and changes. `scope` is the scope of the
  // account. The first visit reads all children. A visit after a block reads again all children
  // that still have a job which may start. Other visits read only the children that touch_path()
  // named.
  Contenders& refresh(AccountId id, Scope scope);
  // Returns the children that take part, with their keys. Of the users and the account's own jobs,
  // only those whose next job has the highest priority take part. Call order() after refresh(), for
  // an account with children.
  SiblingOrder& order(AccountId id, Contenders& node);
  // Says that the allocation or the next job of `leaf` may have changed. The same holds for all
  // accounts above `leaf`. O(depth).
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

// The walk of one pass down the account tree. It keeps all memory from pass to pass. Marks carry
// the pass's number, so beginning a pass costs nothing and a pass touches only the nodes that it
// visits.
//
// A visited node keeps its children with startable demand ("live"), the keys of those that take
// part, and the job that it would return next. A start or a block marks the path as changed, and
// the next visit updates it. Private to queue.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "accounting/order.h"
#include "accounting/tree.h"
#include "queue/ready.h"
#include "queue/ready_fifo.h"
#include "queue/ready_index.h"

namespace subak::ready {

// Up to this many siblings, a scan and new keys cost less than a heap.
inline constexpr std::size_t kFewSiblings = 16;

struct PassSetup {
  const AccountTree* tree = nullptr;
  OrderPolicy policy = OrderPolicy::kTargetShare;
  const TargetShareRule* rule = nullptr;
  const UsageTick* tick = nullptr;
  TimeMs now = 0;
};

// The calls are those of ReadyQueue::Pass, between begin() and end().
class Walk {
 public:
  void begin(Index& index, const PassSetup& setup);
  void end();
  std::uint32_t next();  // slot, or kNoSlot
  void started(AccountId leaf);
  void block_shape(ShapeId shape);
  void block_job(JobId id);
  void block_line(JobId id);
  void block_account(AccountId id, MilliGpu milligpu);
  std::vector<ReadyQueue::Level> rank(AccountId leaf);
  // Treats the job as started: skips it from now on, and adds its cost on its path.
  void take(std::uint32_t slot);

 private:
  static constexpr MilliGpu kNoLimit = std::numeric_limits<MilliGpu>::max();
  static constexpr TimeMs kForever = std::numeric_limits<TimeMs>::max();

  // A child with startable demand; the node itself stands for its own jobs.
  struct Child {
    AccountId id;
    // Index of an open kind, in lines, then in below. It only increases: all kinds before it are
    // blocked, and a blocked kind does not leave during a pass.
    std::uint32_t witness = 0;
    // Milli-GPU of its next job; for an inner node a lower bound, until it is the first.
    MilliGpu next = 0;
    TimeMs stands_until = kForever;  // validity of `next`, if nothing changes below the child
    std::int32_t priority = 0;       // of its next job, where `by_class`
    bool by_class = false;           // a user, or the node itself
    double value = 0;                // decayed surplus or usage at the pass's instant
  };
  // How far one line is blocked job by job: all up to `slot` are. `next` was the slot after it at
  // the last call.
  struct Cursor {
    std::uint32_t kind = 0;
    std::uint32_t slot = kNoSlot;
    std::uint32_t next = kNoSlot;
  };
  // The state of one visited node in the pass.
  struct Node {
    std::uint64_t seen = 0;  // version of the blocks that `children` reflects
    std::uint64_t limit_version = 0;
    MilliGpu limit = kNoLimit;     // block_account
    MilliGpu extra = 0;            // of take()
    std::uint32_t best = kNoSlot;  // its next job, if `best_known`
    MilliGpu best_cost = 0;        // of that job
    bool best_known = false;
    bool best_within = false;  // that job is within quota at every level below
    bool expanded = false;     // children is filled
    bool rebuild = false;      // the keys must be computed again
    bool fresh = false;        // expanded, but its next job is not known yet
    bool has_targets = false;
    bool dirty = false;                        // something below is blocked by job or account
    bool jobs_blocked = false;                 // some of its own, or whole lines
    std::vector<std::uint32_t> lines_blocked;  // kinds, ascending
    std::vector<Child> children;               // by id
    std::vector<Sibling> siblings;             // those that take part, by id
    std::vector<OrderKey> keys;                // of siblings
    std::vector<double> targets;               // of siblings, if has_targets
    std::vector<std::uint32_t> heap;           // of siblings, if there are many
    std::vector<AccountId> touched;            // children whose allocation or next job changed
    std::vector<Cursor> cursors;               // by kind
  };
  struct Mark {
    std::uint64_t pass = 0;  // visited in this one
    std::uint32_t at = 0;    // if visited: its index in visited_
  };
  // The next job of a node as a pass found it with nothing blocked. The keys of a node's children
  // change slowly with time. The result is valid until a neighbour's key could pass it
  // (stands_until()), unless something changes at or below the node. So a pass computes again only
  // nodes with changes.
  struct Memo {
    std::uint64_t epoch = 0;  // memo_epoch_ when it was made
    std::uint32_t jobs_changes = 0, alloc_changes = 0;
    std::uint32_t best = kNoSlot;
    bool best_within = false;
    MilliGpu best_cost = 0;
    TimeMs from = 0, until = 0;
  };
  // The number of changes at and below a node.
  struct Changes {
    std::uint32_t jobs = 0, alloc = 0;
    friend bool operator==(const Changes&, const Changes&) = default;
  };
  // A child with startable demand as its parent last read it. Only its surplus changes with time.
  struct Entrant {
    AccountId id;
    std::int32_t priority = 0;  // of its next job, where `by_class`
    bool by_class = false;
    bool leaf = false;
    std::uint32_t slot = kNoSlot;  // its next job until `until`, if known
    double shares = 0;
    DecayedMeter::Course surplus;
    double rate = 0;  // of the surplus, in milli-GPU
    MilliGpu alloc = 0;
    MilliGpu least = 0;  // of its next job
    MilliGpu next = 0;   // cost of that job until `until`; then it is `least` again
    TimeMs until = kForever;
    Changes seen;  // when this was read
  };
  // The children of a node at the last call. A start changes one of them, so the next call need not
  // read the others.
  struct Standing {
    std::uint64_t epoch = 0;      // memo_epoch_ when it was made
    std::int64_t half_lives = 0;  // of the instants that the surpluses are for
    TimeMs from = 0;
    Changes own;                    // of the node
    std::uint32_t last = 0;         // index of the child with the last result
    std::vector<Entrant> entrants;  // by id
  };
  // Which of them is first at the pass's instant, and for how long.
  struct Contest;
  // What blocks above a node mean for it.
  struct Scope {
    MilliGpu limit = kNoLimit;
    std::uint64_t version = 0;
  };

  // ready_walk.cc: marks, and which demand is startable
  bool marked(AccountId id) const { return marks_[id.value].pass == pass_; }
  Node& marked_node(AccountId id) { return *visited_[marks_[id.value].at]; }
  const Node& marked_node(AccountId id) const { return *visited_[marks_[id.value].at]; }
  Node& mark(AccountId id);
  bool nothing_blocked() const {
    return version_ == 0 && blocked_list_.empty() && !any_line_blocked_;
  }
  bool best_within(AccountId id) const;
  MilliGpu best_cost(AccountId id, const Sibling& child) const;
  MilliGpu known_cost(AccountId id) const;
  Scope below(Scope scope, AccountId id) const;
  bool kind_open(std::uint32_t kind, MilliGpu limit) const;
  bool job_open(std::uint32_t slot) const;
  bool line_blocked(AccountId leaf, std::uint32_t kind) const;
  bool find_witness(const TreeNode& node, Child& child, MilliGpu limit) const;
  std::uint32_t first_open(AccountId id, Scope scope);
  std::uint32_t line_open(Node& node, const Line& line);
  MilliGpu kind_cost(std::uint32_t kind) const { return index_->kind(kind).cost.milligpu; }
  MilliGpu cost_of(std::uint32_t slot) const { return kind_cost(index_->jobs()[slot].kind); }
  bool live_by(std::uint32_t slot, Child& child) const;
  bool live(Child& child, AccountId parent, Scope scope);
  void touch_path(AccountId leaf);
  void mark_dirty_above(AccountId id);
  void jobs_blocked_at(AccountId leaf);
  std::uint32_t next_fifo();

  // ready_memo.cc: results that a pass leaves for the next
  void begin_memos();
  bool may_remember() const;
  const Memo* memo(AccountId id) const;  // nullptr: none is valid
  void recall(Child& child) const;       // fills in the child's result if it is known
  void remember(AccountId id, std::size_t first);
  TimeMs stands_until(AccountId id, std::size_t first);
  TimeMs answer_stands_until(AccountId id, AccountId child) const;

  // ready_standing.cc: the next call after a start
  Changes changes_of(AccountId id) const {
    return {index_->summary(id).changes, setup_.tree->node(id).changes};
  }
  std::uint32_t ask_again(AccountId id, Scope scope);  // kNoSlot: a full computation is needed
  bool catch_up(Standing& standing, AccountId id) const;
  bool catch_up(Entrant& entrant, Changes& unseen) const;
  static void forget_next(Entrant& entrant);
  void read(Entrant& entrant) const;
  void prefetch(const Entrant& entrant) const;
  void prefetch_changes(const Entrant& entrant) const;
  bool enter(Standing& standing, Contest& contest) const;
  static void set_key(const Entrant& entrant, Contest& contest, std::size_t at);
  static bool find_first(const Standing& standing, Contest& contest);
  static bool only_twins_are_near(std::size_t count, const Contest& contest);
  TimeMs first_stays_until(const Standing& standing, const Contest& contest) const;
  void keep_standing(AccountId id, std::size_t first);

  // ready_order.cc: children, keys, and the choice
  std::uint32_t best(AccountId id, Scope scope);
  void refresh(AccountId id, Scope scope);
  void expand(AccountId id, Scope scope);
  void prefetch_children(AccountId id) const;
  void add_child(Node& node, AccountId child, AccountId parent, bool by_class, Scope scope);
  void recheck_all(AccountId id, Scope scope);
  void recheck_touched(AccountId id, Scope scope);
  bool update_class(Child& child, AccountId parent, Scope scope);
  void rebuild(AccountId id);
  void rekey(AccountId id, std::size_t at, const Child& child);
  bool settle(AccountId id, std::size_t at);
  std::uint32_t next_of(AccountId id, AccountId child, Scope scope);
  bool next_within(AccountId id, AccountId child, std::uint32_t slot) const;
  ReadyQueue::Level compare(AccountId id, Scope scope);
  static Child* child_of(Node& node, AccountId id);
  void compute_key(Node& node, std::size_t at);
  void know_targets(Node& node) const;
  std::size_t first_of(const Node& node) const;
  void sift(Node& node, std::size_t at);
  void fill_values(AccountId id);
  double value_of(AccountId id) const;
  double own_value(AccountId id) const;
  MilliGpu alloc_of(AccountId id) const;
  MilliGpu own_alloc(AccountId id) const;
  bool may_be_within(const Sibling& sibling, AccountId parent) const;
  bool covers(AccountId id, std::uint32_t slot) const;

  Index* index_ = nullptr;
  PassSetup setup_;
  DecayInstant instant_;
  const char* first_account_ = nullptr;  // the root's record: ids index a dense vector
  std::uint64_t pass_ = 0;
  std::uint64_t version_ = 0;        // counts blocks of this pass
  std::uint64_t shape_version_ = 0;  // version of the last block_shape
  bool simulated_ = false;           // take() was called
  std::vector<Mark> marks_;          // index = account id
  // Nodes in order of their first visit, so that a short pass always uses the same memory.
  std::vector<std::unique_ptr<Node>> visited_;
  std::uint32_t visited_count_ = 0;
  std::vector<std::uint64_t> blocked_kinds_;  // pass number, by kind
  std::vector<bool> blocked_jobs_;            // by slot
  std::vector<std::uint32_t> blocked_list_;   // to clear them
  bool any_line_blocked_ = false;
  Fifo fifo_;

  std::vector<Memo> memos_;          // index = account id
  std::vector<Standing> standings_;  // likewise
  std::uint64_t memo_epoch_ = 0;
  std::uint64_t index_epoch_ = 0;  // the index epoch for which memo_epoch_ was made
  const Index* memos_of_ = nullptr;
  OrderPolicy memo_policy_ = OrderPolicy::kTargetShare;
  TargetShareRule memo_rule_;
};

}  // namespace subak::ready

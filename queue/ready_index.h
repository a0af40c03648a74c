// An index of the waiting jobs, which each change updates. A job waits at its leaf: its user, or
// its account if it has no user. A kind is a request shape with waiting jobs. The index has one
// line (job class) for each leaf and kind. For every account of the tree, the index counts the jobs
// of each kind that wait below the account, without the account's own jobs.
// Threads: one at a time; each ReadyQueue owns one index. Private to queue.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "accounting/tree.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "queue/job_table.h"
#include "queue/line.h"
#include "queue/ready.h"

namespace subak::ready {

// A shape with waiting jobs. For a pass (a round of scheduling decisions), jobs of one kind and one
// leaf differ only in their position in the line. A kind has a number from a dense range. The
// number may be used again for another kind later, and no decision depends on it.
struct Kind {
  // The shape of the jobs. No other kind has the same shape.
  ShapeId shape;
  // The cost of one job, at the last sync().
  ShapeCost cost;
  // The number of waiting jobs, from 1.
  std::size_t jobs = 0;
  // A hint: the last known index of this kind in TreeNode::below.
  std::uint32_t place = 0;
  // A binary heap of the slots by (submit time, id). A job that left stays in the heap as a
  // tombstone, until its slot reaches the top. All tombstones are dropped when there are more of
  // them than half the jobs plus a small constant.
  std::vector<std::uint32_t> by_age;
};

// The jobs of one kind below an account.
struct KindCount {
  std::uint32_t kind = 0;
  // How many jobs wait below the account, from 1.
  std::uint32_t jobs = 0;
  // The cost of one job.
  MilliGpu milligpu = 0;
};

// The waiting jobs of one account of the tree.
struct TreeNode {
  // The lines of the account's own jobs, in the order of their first jobs.
  std::vector<Line> lines;
  // The counts of the jobs that wait below the account, one for each kind. The list is sorted by
  // cost from the cheapest up, then by kind.
  std::vector<KindCount> below;
  // The cost of all jobs at or below the account.
  MilliGpu milligpu = 0;
};

// The fields of every sibling that a walk reads, close together in memory. The first part changes
// only with an edit of the tree. The second part changes with the jobs.
struct NodeSummary {
  // The account's shares (AccountSpec::shares).
  double shares = 0;
  // The sum of the account's effective quota.
  MilliGpu quota = 0;
  // The parent account; none for the root.
  AccountId parent;
  // The index of the first child in Index::children_. The children are the `child_count` entries
  // from this index on.
  std::uint32_t first_child = 0;
  std::uint32_t child_count = 0;
  // Copies of AccountSpec::user (the account is a user) and AccountSpec::held (an operator holds
  // the account).
  bool user : 1 = false;
  bool held : 1 = false;
  // True: an operator holds some account below this one.
  bool held_below : 1 = false;
  // True: the account's quota is configured, not the sum of its children's quotas.
  bool own_quota : 1 = false;

  // The number of jobs at or below the account.
  std::uint32_t jobs = 0;
  // The number of jobs whose leaf is this account.
  std::uint32_t own_jobs = 0;
  // Rises when a job at or below the account comes or goes.
  std::uint32_t changes = 0;
  // The priority of the first of the account's own jobs.
  std::int32_t priority = 0;
  // A lower bound of the cost of the account's next job. If no job waits below the account: the
  // cost of its first job. Else: the cost of the cheapest job at or below the account.
  MilliGpu least_next = 0;
};

// The index of all waiting jobs. A job that comes or goes changes only its leaf and the accounts
// above the leaf. A pass skips accounts at or below which no job waits.
class Index {
 public:
  explicit Index(CostOf cost_of) : cost_of_(std::move(cost_of)) {}
  // add() and remove() are those of ReadyQueue. Each costs O(depth x log of the kinds). The job's
  // leaf must be in the tree, and the job must be new.
  void add(const ReadyJob& job, const AccountTree& tree);
  void remove(JobId id);
  // moved() is that of ReadyQueue.
  void moved(const AccountTree& tree, AccountId account, AccountId from);
  // Says that costs may have changed. O(1).
  void costs_changed() { costs_stale_ = true; }
  // Calls `cost_of` for the shapes again if costs may have changed. O(shapes), and O(accounts +
  // jobs) for each cost that did change.
  void sync_costs();
  // Calls sync_costs(), and updates the summaries of the accounts if the tree was edited since the
  // last call. O(1) without an edit, O(depth) for few edits, else O(accounts).
  void sync(const AccountTree& tree);

  // node() and summary() accept ids that the tree had at the last add() or sync().
  const TreeNode& node(AccountId id) const { return nodes_[id.value]; }
  const NodeSummary& summary(AccountId id) const { return summaries_[id.value]; }
  // Rises when sync() finds another tree, an edit of the tree, or other costs.
  std::uint64_t epoch() const { return epoch_; }
  // Makes all cached results of epochs up to `epoch` invalid.
  void is_another(std::uint64_t epoch) { epoch_ = std::max(epoch_, epoch) + 1; }
  // The children by id, as of the last sync().
  std::span<const AccountId> children(AccountId id) const {
    const NodeSummary& summary = summaries_[id.value];
    return {children_.data() + summary.first_child, summary.child_count};
  }
  // True if no job waits below the account.
  bool is_leaf(AccountId id) const { return summary(id).jobs == summary(id).own_jobs; }
  // True if the index has room for the account.
  bool knows(AccountId id) const { return id.value < nodes_.size(); }
  // Returns the kind with this number. The number must belong to a kind with jobs.
  const Kind& kind(std::uint32_t number) const { return kinds_[number]; }
  const ShapeCost& cost(std::uint32_t kind) const { return kinds_[kind].cost; }
  // The kinds with jobs, by shape.
  const std::map<ShapeId, std::uint32_t>& kinds() const { return by_shape_; }
  // Returns a number above all numbers of kinds.
  std::size_t kind_numbers() const { return kinds_.size(); }
  const JobTable& jobs() const { return jobs_; }
  // Returns the oldest job of the shape, as ReadyQueue::oldest() does. oldest() also calls trim()
  // for the kind.
  std::optional<JobId> oldest(ShapeId shape);
  // Drops tombstones from the top of the kind's heap. Positions in the heap become invalid.
  void trim(std::uint32_t kind);
  // Counts the changes that move positions in any heap.
  std::uint64_t heap_version() const { return heap_version_; }
  // True if the job of slot `a` comes before the job of slot `b` by submit time, then id.
  bool older(std::uint32_t a, std::uint32_t b) const;
  // Asserts the invariants, as ReadyQueue::check_invariants() does.
  void check_invariants() const;

 private:
  // Makes room for the tree's accounts, and records the leaf's ancestors.
  void reach(AccountId leaf, const AccountTree& tree);
  // Returns the kind of the shape; makes a new one if no job of the shape waits.
  std::uint32_t kind_of(ShapeId shape);
  // Changes the cost of all jobs of the kind, and every sum that counts them.
  void recost(std::uint32_t kind, ShapeCost cost);
  // The jobs at or below one account: how many of each kind, and their cost.
  struct Waiting {
    std::vector<KindCount> kinds;
    std::uint32_t jobs = 0;
    MilliGpu milligpu = 0;
  };
  Waiting waiting_at(AccountId account) const;
  // Adds these jobs to the counts of an account above them, or subtracts them (`sign` -1).
  void count(AccountId above, const Waiting& waiting, int sign);
  // Computes NodeSummary::least_next again, after a change of the account's kinds.
  void set_least_next(AccountId id);
  // Frees the number of a kind without jobs.
  void release_kind(std::uint32_t number);
  // Drops all tombstones of the heap and frees their slots. O(jobs of the kind).
  void compact(Kind& kind);
  // Updates the summaries of the accounts that were edited since the last sync(). Returns false if
  // accounts came or went, or if too many were edited. In this case, all summaries must be made
  // again.
  bool read_edits(const AccountTree& tree);
  void read_summary(const AccountNode& node);  // sets all fields except `parent` and the children
  // Moves a line whose first job changed to its new position.
  void place_line(TreeNode& node, std::size_t at);
  // Asserts that the sums of one account agree with its jobs.
  void check_node(AccountId id) const;

  JobTable jobs_;
  // The waiting jobs of all accounts; the index is the account id.
  std::vector<TreeNode> nodes_;
  // All kinds by number. A kind with a free number has no jobs.
  std::vector<Kind> kinds_;
  std::vector<std::uint32_t> free_kinds_;
  std::map<ShapeId, std::uint32_t> by_shape_;
  CostOf cost_of_;
  // True: costs_changed() was called since the last sync_costs().
  bool costs_stale_ = false;
  std::uint64_t heap_version_ = 0;

  // The summaries of all accounts; the index is the account id. The summaries are valid for version
  // summaries_version_ of the tree summaries_of_.
  std::vector<NodeSummary> summaries_;
  // The children of all accounts. The children of one account are next to each other.
  std::vector<AccountId> children_;
  const AccountTree* summaries_of_ = nullptr;
  std::uint64_t summaries_version_ = 0;
  // True: an account was moved since the last sync(), so the lists of children are out of date.
  bool moved_ = false;
  std::uint64_t epoch_ = 0;
};

}  // namespace subak::ready

#include "queue/ready_index.h"

#include <algorithm>
#include <cassert>

#include "core/must.h"

namespace subak::ready {
namespace {

constexpr std::size_t kFewEdits = 64;  // more of them: reading the whole tree is as quick

bool cheaper(const KindCount& a, const KindCount& b) {
  return a.milligpu != b.milligpu ? a.milligpu < b.milligpu : a.kind < b.kind;
}

// Returns the index of the kind, or its insertion point. Nodes with many jobs have most kinds, each
// at the same index: `hint` is where it was found last.
std::size_t find_count(const std::vector<KindCount>& counts, const KindCount& one,
                       std::uint32_t& hint) {
  if (hint < counts.size() && counts[hint].kind == one.kind) return hint;
  const auto it = std::lower_bound(counts.begin(), counts.end(), one, cheaper);
  const auto at = static_cast<std::size_t>(it - counts.begin());
  hint = static_cast<std::uint32_t>(at);
  return at;
}

// count_one() and uncount_one() return true if the number of kinds in `counts` changed.
bool count_one(std::vector<KindCount>& counts, const KindCount& one, std::uint32_t& hint) {
  const std::size_t at = find_count(counts, one, hint);
  const bool known = at < counts.size() && counts[at].kind == one.kind;
  if (known) {
    ++counts[at].jobs;
  } else {
    counts.insert(counts.begin() + static_cast<std::ptrdiff_t>(at), one);
  }
  return !known;
}

bool uncount_one(std::vector<KindCount>& counts, const KindCount& one, std::uint32_t& hint) {
  const std::size_t at = find_count(counts, one, hint);
  assert(at < counts.size() && counts[at].kind == one.kind);
  const bool last = --counts[at].jobs == 0;
  if (last) counts.erase(counts.begin() + static_cast<std::ptrdiff_t>(at));
  return last;
}

std::size_t find_line(const std::vector<Line>& lines, std::uint32_t kind) {
  std::size_t i = 0;
  while (i < lines.size() && lines[i].kind != kind) ++i;
  return i;
}

// The most tombstones that a heap may keep whatever its size.
constexpr std::size_t kTombstones = 32;

}  // namespace

// Makes room for the tree's nodes, and records the leaf's ancestors.
void Index::reach(AccountId leaf, const AccountTree& tree) {
  if (leaf.value >= nodes_.size()) {
    nodes_.resize(tree.next_id().value);
    summaries_.resize(tree.next_id().value);
  }
  must(tree.exists(leaf) && knows(leaf), "a job's account is in the tree");
  for (AccountId id = leaf; id; id = tree.node(id).parent) {
    summaries_[id.value].parent = tree.node(id).parent;
  }
}

bool Index::older(std::uint32_t a, std::uint32_t b) const {
  const Slot &x = jobs_[a], &y = jobs_[b];
  return x.submit_ms != y.submit_ms ? x.submit_ms < y.submit_ms : x.id < y.id;
}

std::uint32_t Index::kind_of(ShapeId shape) {
  const auto [it, fresh] = by_shape_.try_emplace(shape, 0);
  if (!fresh) {
    must(kinds_[it->second].shape == shape, "a kind has one shape");
    return it->second;
  }
  if (free_kinds_.empty()) {
    it->second = static_cast<std::uint32_t>(kinds_.size());
    kinds_.emplace_back();
  } else {
    it->second = free_kinds_.back();
    free_kinds_.pop_back();
  }
  must(kinds_[it->second].jobs == 0 && kinds_[it->second].by_age.empty(), "a new kind is empty");
  kinds_[it->second].shape = shape;
  kinds_[it->second].cost = cost_of_(shape);
  must(kinds_[it->second].cost.milligpu >= 0, "a job costs no less than nothing");
  must(by_shape_.size() + free_kinds_.size() == kinds_.size(), "a kind's number is used or free");
  return it->second;
}

void Index::add(const ReadyJob& job, const AccountTree& tree) {
  const std::uint32_t number = kind_of(job.shape);
  Slot fresh;
  fresh.id = job.id;
  fresh.submit_ms = job.submit_ms;
  fresh.priority = job.priority;
  fresh.leaf = job.leaf;
  fresh.kind = number;
  const std::uint32_t slot = jobs_.insert(fresh);

  Kind& kind = kinds_[number];
  ++kind.jobs;
  kind.by_age.push_back(slot);
  std::push_heap(kind.by_age.begin(), kind.by_age.end(),
                 [this](std::uint32_t a, std::uint32_t b) { return older(b, a); });
  ++heap_version_;

  const KindCount one{number, 1, kind.cost.milligpu};
  reach(job.leaf, tree);
  TreeNode& leaf = nodes_[job.leaf.value];
  const std::size_t at = find_line(leaf.lines, number);
  if (at == leaf.lines.size()) leaf.lines.push_back({.kind = number});
  line_insert(jobs_, leaf.lines[at], slot);
  if (leaf.lines[at].head == slot) place_line(leaf, at);
  summaries_[job.leaf.value].priority = leaf.lines.front().priority;
  ++summaries_[job.leaf.value].own_jobs;
  for (AccountId id = job.leaf; id; id = summaries_[id.value].parent) {
    ++summaries_[id.value].jobs;
    ++summaries_[id.value].changes;
    nodes_[id.value].milligpu += one.milligpu;
    if (id == job.leaf || count_one(nodes_[id.value].below, one, kind.place)) set_least_next(id);
  }
  must(summaries_[kRootAccount.value].jobs == jobs_.size(), "every job waits below the root");
}

Index::Waiting Index::waiting_at(AccountId account) const {
  const TreeNode& node = nodes_[account.value];
  Waiting out{node.below, summaries_[account.value].jobs, node.milligpu};
  for (const Line& line : node.lines) {
    std::vector<std::uint32_t> slots;
    line_list(jobs_, line, slots);
    const auto jobs = static_cast<std::uint32_t>(slots.size());
    const KindCount own{line.kind, jobs, kinds_[line.kind].cost.milligpu};
    const auto at = std::lower_bound(out.kinds.begin(), out.kinds.end(), own, cheaper);
    if (at != out.kinds.end() && at->kind == own.kind) {
      at->jobs += jobs;
    } else {
      out.kinds.insert(at, own);
    }
  }
  return out;
}

void Index::count(AccountId above, const Waiting& waiting, int sign) {
  TreeNode& node = nodes_[above.value];
  NodeSummary& summary = summaries_[above.value];
  for (const KindCount& more : waiting.kinds) {
    auto at = std::lower_bound(node.below.begin(), node.below.end(), more, cheaper);
    const bool known = at != node.below.end() && at->kind == more.kind;
    if (sign > 0) {
      if (!known) at = node.below.insert(at, {more.kind, 0, more.milligpu});
      at->jobs += more.jobs;
      continue;
    }
    must(known && at->jobs >= more.jobs, "an account counts the jobs below it");
    at->jobs -= more.jobs;
    if (at->jobs == 0) node.below.erase(at);
  }
  summary.jobs = sign > 0 ? summary.jobs + waiting.jobs : summary.jobs - waiting.jobs;
  node.milligpu += sign * waiting.milligpu;
  ++summary.changes;
  set_least_next(above);
}

void Index::moved(const AccountTree& tree, AccountId account, AccountId from) {
  moved_ = true;
  if (!knows(account)) return;  // no job ever waited there
  // The counts below must have the costs of the counts above.
  sync_costs();
  const Waiting waiting = waiting_at(account);
  if (waiting.jobs > 0) {
    for (AccountId up = from; up; up = tree.node(up).parent) count(up, waiting, -1);
  }
  reach(tree.node(account).parent, tree);
  summaries_[account.value].parent = tree.node(account).parent;
  if (waiting.jobs == 0) return;
  for (AccountId up = tree.node(account).parent; up; up = tree.node(up).parent)
    count(up, waiting, 1);
  must(summaries_[kRootAccount.value].jobs == jobs_.size(), "every job waits below the root");
}

void Index::remove(JobId id) {
  const std::uint32_t slot = jobs_.find(id);
  assert(slot != kNoSlot);
  const std::uint32_t number = jobs_[slot].kind;
  const AccountId own = jobs_[slot].leaf;
  Kind& kind = kinds_[number];
  for (AccountId up = summaries_[own.value].parent; up; up = summaries_[up.value].parent) {
    __builtin_prefetch(nodes_[up.value].below.data() + kind.place);
  }

  TreeNode& leaf = nodes_[own.value];
  const std::size_t at = find_line(leaf.lines, number);
  must(at < leaf.lines.size() && kind.jobs > 0, "a job is in the line of its kind");
  const bool was_head = leaf.lines[at].head == slot;
  line_erase(jobs_, leaf.lines[at], slot);
  if (leaf.lines[at].root == kNoSlot) {
    leaf.lines.erase(leaf.lines.begin() + static_cast<std::ptrdiff_t>(at));
  } else if (was_head) {
    place_line(leaf, at);
  }
  const KindCount one{number, 1, kind.cost.milligpu};
  --summaries_[own.value].own_jobs;
  if (!leaf.lines.empty()) summaries_[own.value].priority = leaf.lines.front().priority;
  for (AccountId up = own; up; up = summaries_[up.value].parent) {
    must(summaries_[up.value].jobs > 0, "an account counts the jobs below it");
    --summaries_[up.value].jobs;
    ++summaries_[up.value].changes;
    nodes_[up.value].milligpu -= one.milligpu;
    if (up == own || uncount_one(nodes_[up.value].below, one, kind.place)) set_least_next(up);
  }
  jobs_.erase(slot);
  --kind.jobs;
  if (kind.jobs == 0) {
    release_kind(number);
  } else if (kind.by_age.size() > kind.jobs + kind.jobs / 2 + kTombstones) {
    compact(kind);
  }
  must(summaries_[kRootAccount.value].jobs == jobs_.size(), "every job waits below the root");
}

void Index::release_kind(std::uint32_t number) {
  Kind& kind = kinds_[number];
  must(kind.jobs == 0, "only a kind without jobs goes");
  compact(kind);
  by_shape_.erase(kind.shape);
  kind = Kind();
  free_kinds_.push_back(number);
  must(by_shape_.size() + free_kinds_.size() == kinds_.size(), "a kind's number is used or free");
}

void Index::compact(Kind& kind) {
  auto& heap = kind.by_age;
  std::size_t kept = 0;
  for (const std::uint32_t slot : heap) {
    if (jobs_[slot].live) {
      heap[kept++] = slot;
    } else {
      jobs_.free(slot);
    }
  }
  must(kept == kind.jobs, "the heap has every job of its kind");
  heap.resize(kept);
  std::make_heap(heap.begin(), heap.end(),
                 [this](std::uint32_t a, std::uint32_t b) { return older(b, a); });
  ++heap_version_;
}

void Index::trim(std::uint32_t number) {
  auto& heap = kinds_[number].by_age;
  while (!heap.empty() && !jobs_[heap.front()].live) {
    jobs_.free(heap.front());
    std::pop_heap(heap.begin(), heap.end(),
                  [this](std::uint32_t a, std::uint32_t b) { return older(b, a); });
    heap.pop_back();
    ++heap_version_;
  }
  must(heap.size() >= kinds_[number].jobs, "the heap has every job of its kind");
}

std::optional<JobId> Index::oldest(ShapeId shape) {
  const auto it = by_shape_.find(shape);
  if (it == by_shape_.end()) return std::nullopt;
  trim(it->second);
  must(!kinds_[it->second].by_age.empty(), "a kind has a job");
  return jobs_[kinds_[it->second].by_age.front()].id;
}

void Index::set_least_next(AccountId id) {
  const TreeNode& node = nodes_[id.value];
  MilliGpu& least = summaries_[id.value].least_next;
  const auto cost = [this](const Line& line) { return kinds_[line.kind].cost.milligpu; };
  if (node.below.empty()) {
    least = node.lines.empty() ? 0 : cost(node.lines.front());
    return;
  }
  least = node.below.front().milligpu;
  for (const Line& line : node.lines) least = std::min(least, cost(line));
}

void Index::sync_costs() {
  if (!std::exchange(costs_stale_, false)) return;
  for (const auto& [shape, kind] : by_shape_) {
    const ShapeCost cost = cost_of_(shape);
    if (cost != kinds_[kind].cost) recost(kind, cost);
  }
}

// O(nodes + jobs): the costs of a shape rarely change.
void Index::recost(std::uint32_t kind, ShapeCost cost) {
  must(cost.milligpu >= 0 && kinds_[kind].jobs > 0, "a job that waits costs no less than nothing");
  const MilliGpu more = cost.milligpu - kinds_[kind].cost.milligpu;
  kinds_[kind].cost = cost;
  ++epoch_;
  if (more == 0) return;
  for (std::uint32_t slot = 0; slot < jobs_.slots(); ++slot) {
    const Slot& job = jobs_[slot];
    if (!job.live || job.kind != kind) continue;
    for (AccountId id = job.leaf; id; id = summaries_[id.value].parent) {
      nodes_[id.value].milligpu += more;
    }
  }
  for (std::uint32_t id = 1; id < nodes_.size(); ++id) {
    std::vector<KindCount>& below = nodes_[id].below;
    for (KindCount& count : below) count.milligpu += count.kind == kind ? more : 0;
    std::sort(below.begin(), below.end(), cheaper);
    set_least_next(AccountId(id));
  }
}

// Moves the line at `at`, which has a new head, to its position.
void Index::place_line(TreeNode& node, std::size_t at) {
  auto& lines = node.lines;
  must(at < lines.size(), "only a line of the node is placed");
  const auto less = [this](const Line& a, const Line& b) { return before(jobs_, a, b); };
  const auto it = lines.begin() + static_cast<std::ptrdiff_t>(at);
  if (it != lines.begin() && less(*it, it[-1])) {
    std::rotate(std::upper_bound(lines.begin(), it, *it, less), it, it + 1);
  } else {
    std::rotate(it, it + 1, std::lower_bound(it + 1, lines.end(), *it, less));
  }
}

void Index::sync(const AccountTree& tree) {
  sync_costs();
  if (summaries_of_ == &tree && summaries_version_ == tree.structure_version()) return;
  ++epoch_;
  const bool up_to_date = !moved_ && summaries_of_ == &tree && read_edits(tree);
  moved_ = false;
  summaries_of_ = &tree;
  summaries_version_ = tree.structure_version();
  if (up_to_date) return;
  nodes_.resize(std::max<std::size_t>(nodes_.size(), tree.next_id().value));
  summaries_.resize(nodes_.size());
  must(nodes_.size() >= tree.next_id().value, "the index has room for every account");
  children_.clear();
  const std::vector<AccountId> order = tree.preorder();
  for (const AccountId id : order) {
    const AccountNode& node = tree.node(id);
    NodeSummary& summary = summaries_[id.value];
    read_summary(node);
    summary.parent = node.parent;
    summary.first_child = static_cast<std::uint32_t>(children_.size());
    summary.child_count = static_cast<std::uint32_t>(node.children.size());
    summary.held_below = false;
    children_.insert(children_.end(), node.children.begin(), node.children.end());
  }
  must(children_.size() + 1 == order.size(), "every account but the root is a child, once");
  for (std::size_t i = order.size(); i-- > 0;) {  // children before parents
    const NodeSummary& summary = summaries_[order[i].value];
    if (summary.parent && (summary.held || summary.held_below)) {
      summaries_[summary.parent.value].held_below = true;
    }
  }
}

bool Index::read_edits(const AccountTree& tree) {
  const std::span<const AccountId> edited = tree.edited_since(summaries_version_);
  if (edited.size() > kFewEdits) return false;
  const auto has_same_children = [&](AccountId id) {
    return !id || summaries_[id.value].child_count == tree.node(id).children.size();
  };
  for (const AccountId id : edited) {
    if (id.value >= summaries_.size()) return false;
    const AccountNode& node = tree.node(id);
    if (node.removed || node.parent != summaries_[id.value].parent) return false;
    if (!has_same_children(id) || !has_same_children(node.parent)) return false;
  }
  for (const AccountId id : edited) read_summary(tree.node(id));
  for (const AccountId id : edited) {
    for (AccountId up = tree.node(id).parent; up; up = summaries_[up.value].parent) {
      const auto below = children(up);
      const bool held_below = std::any_of(below.begin(), below.end(), [&](AccountId child) {
        return summary(child).held || summary(child).held_below;
      });
      if (held_below == summary(up).held_below) break;
      summaries_[up.value].held_below = held_below;
    }
  }
  return true;
}

void Index::read_summary(const AccountNode& node) {
  NodeSummary& summary = summaries_[node.id.value];
  summary.shares = static_cast<double>(node.spec.shares);
  summary.quota = node.quota_total;
  summary.user = node.spec.user;
  summary.held = node.spec.held;
  summary.own_quota = !node.spec.quota.empty();
}

void Index::check_node(AccountId id) const {
  const TreeNode& node = nodes_[id.value];
  const NodeSummary& summary = summaries_[id.value];
  std::size_t jobs = 0;
  MilliGpu milligpu = 0;
  for (std::size_t i = 0; i < node.lines.size(); ++i) {
    const Line& line = node.lines[i];
    line_check(jobs_, line, id);
    assert(i == 0 || before(jobs_, node.lines[i - 1], line));
    std::vector<std::uint32_t> slots;
    line_list(jobs_, line, slots);
    jobs += slots.size();
    milligpu += static_cast<MilliGpu>(slots.size()) * kinds_[line.kind].cost.milligpu;
  }
  assert(jobs == summary.own_jobs);
  if (jobs != 0) assert(summary.priority == node.lines.front().priority);
  for (std::size_t i = 0; i < node.below.size(); ++i) {
    assert(node.below[i].jobs > 0);
    milligpu += static_cast<MilliGpu>(node.below[i].jobs) * node.below[i].milligpu;
    assert(i == 0 || cheaper(node.below[i - 1], node.below[i]));
    assert(node.below[i].milligpu == kinds_[node.below[i].kind].cost.milligpu);
    jobs += node.below[i].jobs;
  }
  assert(jobs == summary.jobs);
  assert(milligpu == node.milligpu);
}

void Index::check_invariants() const {
  for (std::uint32_t id = 1; id < nodes_.size(); ++id) check_node(AccountId(id));
  std::size_t waiting = 0;
  for (const auto& [shape, number] : by_shape_) {
    const Kind& kind = kinds_[number];
    assert(kind.shape == shape && kind.jobs > 0);
    std::size_t live = 0;
    for (const std::uint32_t slot : kind.by_age) live += jobs_[slot].live ? 1 : 0;
    assert(live == kind.jobs);
    waiting += live;
  }
  assert(waiting == jobs_.size());
  assert(!knows(kRootAccount) || summaries_[kRootAccount.value].jobs == waiting);
}

}  // namespace subak::ready

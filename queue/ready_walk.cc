#include "queue/ready_walk.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace subak::ready {

void Walk::begin(Index& index, const PassSetup& setup) {
  index_ = &index;
  setup_ = setup;
  index.sync(*setup.tree);
  instant_ = setup.tree->clock().at(setup.now);
  ++pass_;
  version_ = shape_version_ = 0;
  first_account_ = reinterpret_cast<const char*>(&setup.tree->node(kRootAccount));
  simulated_ = false;
  visited_count_ = 0;
  if (marks_.size() < setup.tree->next_id().value) marks_.resize(setup.tree->next_id().value);
  if (blocked_kinds_.size() < index.kind_numbers()) blocked_kinds_.resize(index.kind_numbers());
  if (setup.policy == OrderPolicy::kFifo) fifo_.begin(index);
  begin_memos();
}

void Walk::end() {
  for (const std::uint32_t slot : blocked_list_) blocked_jobs_[slot] = false;
  blocked_list_.clear();
  any_line_blocked_ = false;
}

std::uint32_t Walk::next() {
  if (setup_.policy == OrderPolicy::kFifo) return next_fifo();
  if (index_->summary(kRootAccount).jobs == 0 || index_->summary(kRootAccount).held) return kNoSlot;
  return best(kRootAccount, below({kNoLimit, shape_version_}, kRootAccount));
}

std::uint32_t Walk::next_fifo() {
  const auto skip = [this](std::uint32_t slot) {
    if (!job_open(slot)) return true;
    const Slot& job = index_->jobs()[slot];
    if (line_blocked(job.leaf, job.kind)) return true;
    const MilliGpu milligpu = cost_of(slot);
    for (AccountId id = job.leaf; id; id = index_->summary(id).parent) {
      if (index_->summary(id).held) return true;
      if (marked(id) && milligpu >= marked_node(id).limit) return true;
    }
    return false;
  };
  return fifo_.next(skip, [this](std::uint32_t kind) { return !kind_open(kind, kNoLimit); });
}

Walk::Node& Walk::mark(AccountId id) {
  Mark& mark = marks_[id.value];
  if (mark.pass == pass_) return *visited_[mark.at];
  if (visited_count_ == visited_.size()) visited_.push_back(std::make_unique<Node>());
  mark = {pass_, visited_count_++};
  Node& node = *visited_[mark.at];
  node.seen = node.limit_version = 0;
  node.limit = kNoLimit;
  node.extra = 0;
  node.best_known = node.expanded = node.rebuild = node.has_targets = node.fresh = false;
  node.dirty = node.jobs_blocked = false;
  node.children.clear();
  node.touched.clear();
  node.cursors.clear();
  node.lines_blocked.clear();
  return node;
}

Walk::Scope Walk::below(Scope scope, AccountId id) const {
  if (!marked(id)) return scope;
  const Node& node = marked_node(id);
  return {std::min(scope.limit, node.limit), std::max(scope.version, node.limit_version)};
}

bool Walk::kind_open(std::uint32_t kind, MilliGpu limit) const {
  if (blocked_kinds_[kind] == pass_) return false;
  return limit == kNoLimit || kind_cost(kind) < limit;
}

bool Walk::job_open(std::uint32_t slot) const {
  return slot >= blocked_jobs_.size() || !blocked_jobs_[slot];
}

bool Walk::line_blocked(AccountId leaf, std::uint32_t kind) const {
  if (!marked(leaf)) return false;
  const std::vector<std::uint32_t>& blocked = marked_node(leaf).lines_blocked;
  return std::binary_search(blocked.begin(), blocked.end(), kind);
}

bool Walk::find_witness(const TreeNode& node, Child& child, MilliGpu limit) const {
  const std::size_t own = node.lines.size(), all = own + node.below.size();
  for (; child.witness < all; ++child.witness) {
    const std::uint32_t i = child.witness;
    if (kind_open(i < own ? node.lines[i].kind : node.below[i - own].kind, limit)) return true;
  }
  return false;
}

// Returns the first job of the class that is not blocked by itself.
std::uint32_t Walk::line_open(Node& node, const Line& line) {
  if (job_open(line.head)) return line.head;
  auto it = std::lower_bound(node.cursors.begin(), node.cursors.end(), line.kind,
                             [](const Cursor& c, std::uint32_t kind) { return c.kind < kind; });
  if (it == node.cursors.end() || it->kind != line.kind) {
    it = node.cursors.insert(it, {line.kind, line.head, kNoSlot});
  }
  const JobTable& jobs = index_->jobs();
  for (;;) {
    const bool known = it->next != kNoSlot && jobs[it->next].live;  // else it has left the line
    if (!known) it->next = line_after(jobs, line, it->slot);
    if (it->next == kNoSlot || job_open(it->next)) return it->next;
    it->slot = std::exchange(it->next, kNoSlot);
  }
}

std::uint32_t Walk::first_open(AccountId id, Scope scope) {
  const bool by_job = marked(id) && marked_node(id).jobs_blocked;
  const JobTable& jobs = index_->jobs();
  std::uint32_t first = kNoSlot;
  for (const Line& line : index_->node(id).lines) {
    if (!kind_open(line.kind, scope.limit)) continue;
    if (!by_job) return line.head;
    if (line_blocked(id, line.kind)) continue;
    if (first != kNoSlot && !before(jobs[line.head], jobs[first])) break;
    const std::uint32_t slot = line_open(marked_node(id), line);
    if (slot == kNoSlot) continue;
    if (first == kNoSlot || before(jobs[slot], jobs[first])) first = slot;
  }
  return first;
}

bool Walk::live_by(std::uint32_t slot, Child& child) const {
  if (slot == kNoSlot) return false;
  child.next = cost_of(slot);
  return true;
}

// True if the child has a job that could start. `next` becomes its cost: for a leaf that of its
// next job, else the least possible. `scope` is the parent's.
bool Walk::live(Child& child, AccountId parent, Scope scope) {
  child.stands_until = kForever;
  if (child.id == parent) return live_by(first_open(parent, scope), child);
  const NodeSummary& summary = index_->summary(child.id);
  if (summary.held || summary.jobs == 0) return false;
  child.next = summary.least_next;
  if (nothing_blocked() && !summary.held_below) {
    recall(child);
    return true;
  }
  const TreeNode& node = index_->node(child.id);
  const Scope inner = below(scope, child.id);
  const bool leaf = index_->is_leaf(child.id);
  if (leaf) {
    if (marked(child.id) && marked_node(child.id).jobs_blocked) {
      return live_by(first_open(child.id, inner), child);
    }
  } else if (summary.held_below || (marked(child.id) && marked_node(child.id).dirty)) {
    refresh(child.id, inner);
    return !marked_node(child.id).children.empty();
  }
  if (!find_witness(node, child, inner.limit)) return false;
  if (leaf) {
    child.next = kind_cost(node.lines[child.witness].kind);
  } else if (node.lines.empty()) {
    child.next = node.below[child.witness].milligpu;
  }
  return true;
}

// Marks every node from `leaf` up: its next job or allocation may have changed.
void Walk::touch_path(AccountId leaf) {
  AccountId child = leaf;  // its own jobs
  for (AccountId id = leaf; id; id = index_->summary(id).parent) {
    if (marked(id)) {
      Node& node = marked_node(id);
      node.best_known = false;
      if (node.expanded && (node.touched.empty() || node.touched.back() != child)) {
        node.touched.push_back(child);
      }
    }
    child = id;
  }
}

void Walk::started(AccountId leaf) {
  if (setup_.policy != OrderPolicy::kFifo) touch_path(leaf);
}

void Walk::block_shape(ShapeId shape) {
  const auto it = index_->kinds().find(shape);
  if (it != index_->kinds().end()) blocked_kinds_[it->second] = pass_;
  shape_version_ = ++version_;
}

void Walk::mark_dirty_above(AccountId id) {
  for (AccountId up = index_->summary(id).parent; up; up = index_->summary(up).parent) {
    mark(up).dirty = true;
  }
}

void Walk::block_job(JobId id) {
  const std::uint32_t slot = index_->jobs().find(id);
  if (slot == kNoSlot || !job_open(slot)) return;
  if (blocked_jobs_.size() < index_->jobs().slots()) blocked_jobs_.resize(index_->jobs().slots());
  blocked_jobs_[slot] = true;
  blocked_list_.push_back(slot);
  jobs_blocked_at(index_->jobs()[slot].leaf);
}

void Walk::jobs_blocked_at(AccountId leaf) {
  Node& node = mark(leaf);
  node.jobs_blocked = true;
  node.dirty = true;
  mark_dirty_above(leaf);
  touch_path(leaf);
}

void Walk::block_line(JobId id) {
  const std::uint32_t slot = index_->jobs().find(id);
  if (slot == kNoSlot) return;
  const Slot& job = index_->jobs()[slot];
  std::vector<std::uint32_t>& blocked = mark(job.leaf).lines_blocked;
  blocked.insert(std::upper_bound(blocked.begin(), blocked.end(), job.kind), job.kind);
  any_line_blocked_ = true;
  jobs_blocked_at(job.leaf);
}

void Walk::block_account(AccountId id, MilliGpu milligpu) {
  if (index_->summary(id).jobs == 0) return;
  Node& node = mark(id);
  if (node.limit <= milligpu) return;
  node.limit = milligpu;
  node.limit_version = ++version_;
  node.best_known = false;
  mark_dirty_above(id);
  touch_path(id);
}

void Walk::take(std::uint32_t slot) {
  simulated_ = true;
  const Slot& job = index_->jobs()[slot];
  const MilliGpu milligpu = cost_of(slot);
  for (AccountId id = job.leaf; id; id = index_->summary(id).parent) mark(id).extra += milligpu;
  block_job(job.id);
}

}  // namespace subak::ready

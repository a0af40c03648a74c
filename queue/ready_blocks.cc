#include "queue/ready_blocks.h"

#include <algorithm>
#include <utility>

#include "core/must.h"

namespace subak::ready {

void Blocks::AtNode::clear() {
  limit = kNoLimit;
  limit_version = 0;
  at_or_below = jobs = false;
  lines.clear();
  borrowing.clear();
  cursors.clear();
}

void Blocks::begin(const Index& index, std::size_t accounts) {
  index_ = &index;
  ++pass_;
  version_ = shape_version_ = 0;
  for (const std::uint32_t slot : blocked_list_) blocked_jobs_[slot] = false;
  blocked_list_.clear();
  any_line_ = false;
  if (blocked_kinds_.size() < index.kind_numbers()) blocked_kinds_.resize(index.kind_numbers());
  nodes_.begin(accounts);
  must(none(), "a pass begins without blocks");
}

void Blocks::block_shape(ShapeId shape) {
  const auto it = index_->kinds().find(shape);
  if (it != index_->kinds().end()) blocked_kinds_[it->second] = pass_;
  shape_version_ = ++version_;
}

bool Blocks::block_job(std::uint32_t slot) {
  must(index_->jobs()[slot].live, "a job that is blocked waits");
  if (!job_open(slot)) return false;
  if (blocked_jobs_.size() < index_->jobs().slots()) blocked_jobs_.resize(index_->jobs().slots());
  blocked_jobs_[slot] = true;
  blocked_list_.push_back(slot);
  block_jobs_at(index_->jobs()[slot].leaf);
  must(!none() && !allows(slot), "a blocked job is not taken");
  return true;
}

void Blocks::block_line(std::uint32_t slot) {
  const Slot& job = index_->jobs()[slot];
  must(job.live, "a line that is blocked has a job");
  std::vector<std::uint32_t>& lines = block_jobs_at(job.leaf).lines;
  lines.insert(std::upper_bound(lines.begin(), lines.end(), job.kind), job.kind);
  any_line_ = true;
  must(!none() && !allows(slot), "a blocked line is not taken");
}

void Blocks::line_borrows(std::uint32_t slot, std::uint32_t depth) {
  const Slot& job = index_->jobs()[slot];
  must(job.live, "a line that borrows has a job");
  must(depth > 0, "a line that borrows is not within quota at the root");
  auto& kinds = block_jobs_at(job.leaf).borrowing;
  const std::pair known{job.kind, depth};
  kinds.insert(std::upper_bound(kinds.begin(), kinds.end(), known), known);
  any_line_ = true;
  must(!none() && borrows_above(slot) == depth, "a line that borrows is known");
}

std::uint32_t Blocks::borrows_above(std::uint32_t slot) const {
  const Slot& job = index_->jobs()[slot];
  const AtNode* const leaf = nodes_.find(job.leaf);
  if (leaf == nullptr) return 0;
  const auto it = std::find_if(leaf->borrowing.begin(), leaf->borrowing.end(),
                               [&](const auto& known) { return known.first == job.kind; });
  return it == leaf->borrowing.end() ? 0 : it->second;
}

bool Blocks::block_account(AccountId id, MilliGpu milligpu) {
  AtNode& node = nodes_.visit(id);
  if (node.limit <= milligpu) return false;
  node.limit = milligpu;
  node.limit_version = ++version_;
  block_above(id);
  must(!none() && below({}, id).limit <= milligpu, "a limit binds below its account");
  return true;
}

void Blocks::block_above(AccountId id) {
  for (AccountId up = index_->summary(id).parent; up; up = index_->summary(up).parent) {
    nodes_.visit(up).at_or_below = true;
  }
}

Blocks::AtNode& Blocks::block_jobs_at(AccountId leaf) {
  AtNode& node = nodes_.visit(leaf);
  node.jobs = node.at_or_below = true;
  block_above(leaf);
  return node;
}

Scope Blocks::below(Scope parent, AccountId id) const {
  const AtNode* const node = nodes_.find(id);
  if (node == nullptr) return parent;
  return {std::min(parent.limit, node->limit), std::max(parent.version, node->limit_version)};
}

bool Blocks::at_jobs_of(AccountId id) const {
  const AtNode* const node = nodes_.find(id);
  return node != nullptr && node->jobs;
}

bool Blocks::below_or_at(AccountId id) const {
  const AtNode* const node = nodes_.find(id);
  return node != nullptr && node->at_or_below;
}

bool Blocks::line_blocked(const AtNode& node, std::uint32_t kind) {
  return std::binary_search(node.lines.begin(), node.lines.end(), kind);
}

bool Blocks::allows(std::uint32_t slot) const {
  const Slot& job = index_->jobs()[slot];
  if (!kind_open(job.kind, kNoLimit) || !job_open(slot)) return false;
  const AtNode* const leaf = nodes_.find(job.leaf);
  if (leaf != nullptr && line_blocked(*leaf, job.kind)) return false;
  const MilliGpu milligpu = index_->cost(job.kind).milligpu;
  for (AccountId id = job.leaf; id; id = index_->summary(id).parent) {
    if (index_->summary(id).held) return false;
    const AtNode* const node = nodes_.find(id);
    if (node != nullptr && milligpu >= node->limit) return false;
  }
  return true;
}

bool Blocks::find_witness(const TreeNode& node, std::uint32_t& witness, MilliGpu limit) const {
  const std::size_t own = node.lines.size(), all = own + node.below.size();
  for (; witness < all; ++witness) {
    const std::uint32_t i = witness;
    if (kind_open(i < own ? node.lines[i].kind : node.below[i - own].kind, limit)) return true;
  }
  return false;
}

// Returns the slot of the line's first job that no block of a single job stops; kNoSlot if there is
// none.
std::uint32_t Blocks::line_open(AtNode& node, const Line& line) {
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
    must(it->next != it->slot, "a cursor moves on");
    if (it->next == kNoSlot || job_open(it->next)) return it->next;
    it->slot = std::exchange(it->next, kNoSlot);
  }
}

OpenJob Blocks::first_open(AccountId id, Scope scope) {
  AtNode* const blocked = nodes_.find(id);
  const bool by_job = blocked != nullptr && blocked->jobs;
  const JobTable& jobs = index_->jobs();
  OpenJob first;
  for (const Line& line : index_->node(id).lines) {
    if (!kind_open(line.kind, scope.limit)) continue;
    const MilliGpu cost = index_->cost(line.kind).milligpu;
    if (!by_job) return {line.head, cost};
    if (line_blocked(*blocked, line.kind)) continue;
    if (first.slot != kNoSlot && !before(jobs[line.head], jobs[first.slot])) break;
    const std::uint32_t slot = line_open(*blocked, line);
    if (slot == kNoSlot) continue;
    must(jobs[slot].live, "the first open job waits");
    if (first.slot == kNoSlot || before(jobs[slot], jobs[first.slot])) first = {slot, cost};
  }
  return first;
}

}  // namespace subak::ready

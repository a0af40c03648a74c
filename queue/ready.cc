#include "queue/ready.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

#include "core/must.h"
#include "queue/ready_index.h"
#include "queue/ready_walk.h"

namespace subak {

using ready::kNoSlot;

ReadyQueue::ReadyQueue(CostOf cost_of)
    : index_(std::make_unique<ready::Index>(std::move(cost_of))) {}
ReadyQueue::ReadyQueue(std::unique_ptr<ready::Index> index) : index_(std::move(index)) {}
ReadyQueue::~ReadyQueue() = default;

void ReadyQueue::add(const ReadyJob& job, const AccountTree& tree) { index_->add(job, tree); }
void ReadyQueue::remove(JobId id) { index_->remove(id); }
void ReadyQueue::moved(const AccountTree& tree, AccountId account, AccountId from) {
  index_->moved(tree, account, from);
}

void ReadyQueue::costs_changed() { index_->costs_changed(); }
bool ReadyQueue::contains(JobId id) const { return index_->jobs().find(id) != kNoSlot; }
std::size_t ReadyQueue::size() const { return index_->jobs().size(); }

std::vector<ShapeId> ReadyQueue::waiting_shapes() const {
  std::vector<ShapeId> shapes;
  for (const auto& [shape, kind] : index_->kinds()) shapes.push_back(shape);
  must(shapes.size() <= size(), "a shape that waits has a job");
  return shapes;
}

std::optional<JobId> ReadyQueue::oldest(ShapeId shape) const { return index_->oldest(shape); }

ReadyQueue::Census ReadyQueue::census() const {
  Census out;
  for (const auto& [shape, number] : index_->kinds()) {
    out.by_shape.push_back({shape, index_->kind(number).jobs});
  }
  std::vector<std::optional<TimeMs>> oldest;  // by account id
  const ready::JobTable& jobs = index_->jobs();
  for (std::uint32_t slot = 0; slot < jobs.slots(); ++slot) {
    const ready::Slot& job = jobs[slot];
    if (!job.live) continue;
    if (job.leaf.value >= oldest.size()) oldest.resize(job.leaf.value + 1);
    std::optional<TimeMs>& least = oldest[job.leaf.value];
    least = std::min(least.value_or(job.submit_ms), job.submit_ms);
  }
  for (std::uint32_t id = 0; id < oldest.size(); ++id) {
    if (oldest[id]) out.oldest.push_back({AccountId(id), *oldest[id]});
  }
  must(out.oldest.size() <= jobs.size(), "an account with an oldest job has a job");
  return out;
}

std::vector<JobId> ReadyQueue::line(AccountId leaf) const {
  const ready::JobTable& jobs = index_->jobs();
  std::vector<std::uint32_t> slots;
  if (!index_->knows(leaf)) return {};
  for (const ready::Line& line : index_->node(leaf).lines) line_list(jobs, line, slots);
  must(slots.size() == index_->summary(leaf).own_jobs, "an account counts its own jobs");
  std::sort(slots.begin(), slots.end(),
            [&](std::uint32_t a, std::uint32_t b) { return before(jobs[a], jobs[b]); });
  std::vector<JobId> ids;
  ids.reserve(slots.size());
  for (const std::uint32_t slot : slots) ids.push_back(jobs[slot].id);
  return ids;
}

MilliGpu ReadyQueue::queued_milligpu(AccountId node) const {
  index_->sync_costs();
  const MilliGpu queued = index_->knows(node) ? index_->node(node).milligpu : 0;
  must(queued >= 0, "waiting jobs cost no less than nothing");
  return queued;
}
std::size_t ReadyQueue::queued_jobs(AccountId node) const {
  const std::size_t queued = index_->knows(node) ? index_->summary(node).jobs : 0;
  must(queued <= size(), "an account's waiting jobs are among all");
  return queued;
}

ReadyQueue::Pass::Pass(const ReadyQueue& queue, const AccountTree& tree, OrderPolicy policy,
                       const TargetShareRule& rule, const UsageTick* tick, TimeMs now)
    : queue_(queue) {
  if (queue.idle_.empty()) {
    walk_ = std::make_unique<ready::Walk>();
  } else {
    walk_ = std::move(queue.idle_.back());
    queue.idle_.pop_back();
  }
  walk_->begin(*queue.index_, {&tree, policy, &rule, tick, now});
}

ReadyQueue::Pass::~Pass() { queue_.idle_.push_back(std::move(walk_)); }

std::optional<JobId> ReadyQueue::Pass::next() {
  const std::uint32_t slot = walk_->next();
  if (slot == kNoSlot) return std::nullopt;
  const ready::Slot& job = queue_.index_->jobs()[slot];
  must(job.live, "the next job waits");
  return job.id;
}

std::vector<ReadyQueue::Level> ReadyQueue::Pass::rank(JobId id) {
  const ready::JobTable& jobs = queue_.index_->jobs();
  const std::uint32_t slot = jobs.find(id);
  assert(slot != kNoSlot);
  return walk_->rank(jobs[slot].leaf);
}

void ReadyQueue::Pass::started(JobId id, AccountId leaf) {
  assert(!queue_.contains(id));
  walk_->started(leaf);
}

void ReadyQueue::Pass::block_shape(ShapeId shape) { walk_->block_shape(shape); }
void ReadyQueue::Pass::block_job(JobId id) { walk_->block_job(id); }
void ReadyQueue::Pass::block_line(JobId id) { walk_->block_line(id); }
void ReadyQueue::Pass::line_borrows(JobId id, AccountId reach) { walk_->line_borrows(id, reach); }
void ReadyQueue::Pass::block_account(AccountId node, MilliGpu milligpu) {
  walk_->block_account(node, milligpu);
}

std::vector<JobId> ReadyQueue::order(const AccountTree& tree, OrderPolicy policy,
                                     const TargetShareRule& rule, const UsageTick* tick, TimeMs now,
                                     std::size_t most) const {
  const Pass pass(*this, tree, policy, rule, tick, now);
  std::vector<JobId> ids;
  while (ids.size() < most) {
    const std::uint32_t slot = pass.walk_->next();
    if (slot == kNoSlot) break;
    ids.push_back(index_->jobs()[slot].id);
    pass.walk_->take(slot);
  }
  must(ids.size() <= most && ids.size() <= size(), "each waiting job comes once");
  return ids;
}

std::unique_ptr<ReadyQueue> ReadyQueue::copy() const {
  index_->sync_costs();
  return std::unique_ptr<ReadyQueue>(new ReadyQueue(std::make_unique<ready::Index>(*index_)));
}

void ReadyQueue::copy_to(ReadyQueue& to) const {
  index_->sync_costs();
  must(&to != this, "a copy is another queue");
  const std::uint64_t epoch = to.index_->epoch();
  *to.index_ = *index_;
  to.index_->is_another(epoch);
  must(to.index_->epoch() > epoch && to.size() == size(), "a copy has all jobs, and no memory");
}

void ReadyQueue::check_invariants() const { index_->check_invariants(); }

}  // namespace subak

#include "engine/derive/order.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "accounting/order.h"
#include "core/must.h"
#include "model/policy.h"

namespace subak {

QueueSnapshot::QueueSnapshot(std::uint64_t seq, TimeMs time_ms, std::vector<JobId> order,
                             const QueueGroups& groups)
    : seq_(seq), time_ms_(time_ms), order_(std::move(order)), places_(order_.size()) {
  std::iota(places_.begin(), places_.end(), 0U);
  std::sort(places_.begin(), places_.end(),
            [this](std::uint32_t a, std::uint32_t b) { return order_[a] < order_[b]; });
  must(places_.size() == order_.size(), "each job has a position");
  std::vector<std::uint32_t> group;
  std::size_t next = 0;
  for (const std::size_t end : groups.ends) {
    group.clear();
    for (; next < end; ++next) {
      if (const std::size_t at = position(groups.jobs[next]); at != 0)
        group.push_back(static_cast<std::uint32_t>(at - 1));
    }
    std::sort(group.begin(), group.end());
    for (std::size_t i = 1; i < group.size(); ++i) siblings_.emplace_back(group[i], group[i - 1]);
  }
  std::sort(siblings_.begin(), siblings_.end());
}

std::optional<std::size_t> QueueSnapshot::sibling_before(std::size_t at) const {
  const auto it = std::lower_bound(siblings_.begin(), siblings_.end(),
                                   std::pair(static_cast<std::uint32_t>(at), 0U));
  if (it == siblings_.end() || it->first != at) return std::nullopt;
  must(it->second < at, "a sibling before a job comes before it");
  return it->second;
}

std::size_t QueueSnapshot::position(JobId id) const {
  const auto it = std::lower_bound(places_.begin(), places_.end(), id,
                                   [this](std::uint32_t at, JobId of) { return order_[at] < of; });
  return it == places_.end() || order_[*it] != id ? 0 : *it + std::size_t{1};
}

struct QueueCopy::Parts {
  std::uint64_t seq = 0;
  TimeMs time_ms = 0;
  OrderPolicy policy = OrderPolicy::kTargetShare;
  TargetShareRule rule;
  AccountTree tree;
  std::optional<UsageTick> tick;
  std::unique_ptr<ReadyQueue> ready;
  QueueGroups groups;
};

QueueCopy::QueueCopy() = default;
QueueCopy::QueueCopy(QueueCopy&&) noexcept = default;
QueueCopy& QueueCopy::operator=(QueueCopy&&) noexcept = default;
QueueCopy::~QueueCopy() = default;

QueueSnapshot QueueCopy::make() const {
  must(parts_ != nullptr, "a copy of the queue was taken");
  const Parts& p = *parts_;
  return {p.seq, p.time_ms,
          p.ready->order(p.tree, p.policy, p.rule, p.tick ? &*p.tick : nullptr, p.time_ms,
                         p.ready->size()),
          p.groups};
}

namespace derive {
namespace {

// Returns the tree after a retroactive edit of shares at the time `t`.
AccountTree with_shares(const AccountTree& now, const OrderAsIf& as_if, TimeMs t) {
  AccountTree tree(now);
  for (const auto& [id, shares] : as_if.shares) {
    const AccountNode& node = now.node(id);
    must(!node.removed, "only an account that exists has shares");
    AccountSpec spec = node.spec;
    spec.shares = shares;
    tree.set(id, spec, next_revision(now, id), t, node.quota, node.limits.gpus, {},
             ShareEdit::kRetroactive);
  }
  return tree;
}

}  // namespace

std::vector<JobId> queue_order(const State& s, TimeMs t, std::size_t most) {
  return queue_order(s, OrderAsIf{}, t, most);
}

std::vector<JobId> queue_order(const State& s, const OrderAsIf& as_if, TimeMs t, std::size_t most) {
  const Policy& policy = as_if.policy == nullptr ? s.policy() : *as_if.policy;
  const UsageTick* const tick = s.allocations().tick();
  const bool no_tick = policy.order == OrderPolicy::kUsageTick && tick == nullptr;
  const auto order_of = [&](const ReadyQueue& ready, const AccountTree& tree) {
    return ready.order(tree, no_tick ? OrderPolicy::kExact : policy.order,
                       target_share_rule(policy), tick, t, most);
  };
  if (as_if.shares.empty()) return order_of(s.jobs().ready(), s.tree());
  // The queue caches what it knows of a tree, so an edited tree needs a queue of its own.
  const std::unique_ptr<ReadyQueue> ready = s.jobs().ready().copy();
  return order_of(*ready, with_shares(s.tree(), as_if, t));
}

QueueSnapshot queue_snapshot(const State& s) {
  std::vector<JobId> order = queue_order(s, s.now(), s.jobs().ready().size());
  must(order.size() <= s.jobs().sets().count(JobState::kQueued), "the order has queued jobs alone");
  QueueGroups groups;
  s.jobs().gangs().workloads().copy_queued(groups.jobs, groups.ends);
  return {s.seq(), s.now(), std::move(order), groups};
}

void copy_queue(const State& s, QueueCopy& into) {
  if (!into.parts_) into.parts_ = std::make_unique<QueueCopy::Parts>();
  QueueCopy::Parts& parts = *into.parts_;
  parts.seq = s.seq();
  parts.time_ms = s.now();
  parts.policy = s.policy().order;
  parts.rule = target_share_rule(s.policy());
  parts.tree = s.tree();
  parts.tick.reset();
  if (s.allocations().tick() != nullptr) parts.tick = *s.allocations().tick();
  if (parts.ready) {
    s.jobs().ready().copy_to(*parts.ready);
  } else {
    parts.ready = s.jobs().ready().copy();
  }
  s.jobs().gangs().workloads().copy_queued(parts.groups.jobs, parts.groups.ends);
  must(parts.ready->size() == s.jobs().sets().count(JobState::kQueued), "the copy has what waits");
}

}  // namespace derive
}  // namespace subak

#include "naive.h"

#include <algorithm>
#include <tuple>

namespace subak {

NaivePass::NaivePass(const std::vector<ReadyJob>& jobs, const Costs& costs, const AccountTree& tree,
                     OrderPolicy policy, const TargetShareRule& rule, const UsageTick* tick,
                     TimeMs now)
    : jobs_(jobs), costs_(costs), tree_(tree), policy_(policy), rule_(rule) {
  for (const AccountId id : tree.preorder()) {
    surplus_[id] = tree.sort_surplus(id, now);
    usage_[id] = policy == OrderPolicy::kUsageTick ? tick->usage(id) : tree.usage(id, now);
  }
}

void NaivePass::block_account(AccountId node, MilliGpu milligpu) {
  const auto it = limit_.find(node);
  limit_[node] = it == limit_.end() ? milligpu : std::min(it->second, milligpu);
}

void NaivePass::take(const ReadyJob& job) {
  blocked_.insert(job.id);
  for (AccountId id = job.leaf; id; id = tree_.node(id).parent) extra_[id] += cost(job);
}

bool NaivePass::open(const ReadyJob& job) const {
  if (shapes_.contains(job.shape) || blocked_.contains(job.id)) return false;
  for (AccountId id = job.leaf; id; id = tree_.node(id).parent) {
    if (tree_.node(id).spec.held) return false;
    const auto limit = limit_.find(id);
    if (limit != limit_.end() && cost(job) >= limit->second) return false;
  }
  return true;
}

bool NaivePass::startable(AccountId node) const {
  return std::any_of(jobs_.begin(), jobs_.end(), [&](const ReadyJob& job) {
    if (!open(job)) return false;
    for (AccountId id = job.leaf; id; id = tree_.node(id).parent) {
      if (id == node) return true;
    }
    return false;
  });
}

const ReadyJob* NaivePass::own_next(AccountId node) const {
  const auto rank = [](const ReadyJob& j) { return std::tuple(-j.priority, j.submit_ms, j.id); };
  const ReadyJob* first = nullptr;
  for (const ReadyJob& job : jobs_) {
    if (job.leaf != node || !open(job)) continue;
    if (first == nullptr || rank(job) < rank(*first)) first = &job;
  }
  return first;
}

MilliGpu NaivePass::alloc(AccountId node) const {
  const auto it = extra_.find(node);
  return tree_.node(node).alloc() + (it == extra_.end() ? 0 : it->second);
}

bool NaivePass::covered(AccountId id, const ReadyJob& job) const {
  const AccountNode& node = tree_.node(id);
  if (alloc(id) + cost(job) > node.quota_total) return false;
  const bool any_only = std::all_of(node.quota.begin(), node.quota.end(),
                                    [](const auto& q) { return q.first == ProductId(); });
  if (any_only) return true;
  if (!costs_.at(job.shape).product) return uncovered(node.quota, node.holdings.levels(), {}) == 0;
  const ProductDemand more{costs_.at(job.shape).product, alloc(id) - node.alloc() + cost(job)};
  return uncovered(node.quota, node.holdings.levels(), {&more, 1}) == 0;
}

std::vector<NaivePass::Candidate> NaivePass::candidates(AccountId node) const {
  std::vector<Candidate> out;
  const AccountNode& parent = tree_.node(node);
  if (const ReadyJob* own = own_next(node); own != nullptr) {
    Sibling s{.id = node, .shares = 1, .alloc = alloc(node)};
    s.usage = usage_.at(node);
    for (const AccountId child : parent.children) {
      s.alloc -= alloc(child);
      s.usage -= usage_.at(child);
    }
    s.surplus = s.usage =
        s.usage > 1e-9 * usage_.at(node) ? s.usage : 0;  // not what rounding leaves
    s.next = cost(*own);
    out.push_back({s, {own, !parent.spec.quota.empty()}, true});
  }
  for (const AccountId child : parent.children) {
    if (!startable(child)) continue;
    const AccountNode& n = tree_.node(child);
    const Choice choice = choose(child);
    const bool covers = n.quota_total > 0 && covered(child, *choice.job) && choice.within;
    Sibling s{.id = child, .shares = static_cast<double>(n.spec.shares), .alloc = alloc(child)};
    s.next = cost(*choice.job);
    s.quota = n.quota_total;
    s.within_quota = covers;
    s.surplus = surplus_.at(child);
    s.usage = usage_.at(child);
    const bool within = n.quota_total == 0 ? !parent.spec.quota.empty() : covers;
    out.push_back({s, {choice.job, within}, n.spec.user});
  }
  return out;
}

NaivePass::Choice NaivePass::choose(AccountId node) const {
  std::vector<Candidate> all = candidates(node);
  std::optional<std::int32_t> top;
  for (const Candidate& c : all) {
    if (c.by_class) top = std::max(top.value_or(c.choice.job->priority), c.choice.job->priority);
  }
  std::erase_if(all,
                [&](const Candidate& c) { return c.by_class && c.choice.job->priority != *top; });
  std::vector<Sibling> siblings;
  for (const Candidate& c : all) siblings.push_back(c.sibling);
  std::vector<OrderKey> keys(siblings.size());
  order_keys(policy_, rule_, siblings, keys);
  const auto first = std::min_element(keys.begin(), keys.end()) - keys.begin();
  return all[static_cast<std::size_t>(first)].choice;
}

const ReadyJob* NaivePass::next_fifo() const {
  const ReadyJob* first = nullptr;
  for (const ReadyJob& job : jobs_) {
    if (!open(job)) continue;
    if (first == nullptr ||
        std::tuple(job.submit_ms, job.id) < std::tuple(first->submit_ms, first->id)) {
      first = &job;
    }
  }
  return first;
}

std::optional<JobId> NaivePass::next() const {
  if (policy_ == OrderPolicy::kFifo) {
    const ReadyJob* job = next_fifo();
    return job == nullptr ? std::nullopt : std::optional(job->id);
  }
  if (!startable(kRootAccount)) return std::nullopt;
  return choose(kRootAccount).job->id;
}

}  // namespace subak

// Why a job waits: everything that binds now, and the walk that ranks it.
#include <algorithm>
#include <cassert>

#include "core/decimal.h"
#include "core/limits.h"
#include "engine/impl.h"

namespace subak {
namespace {

constexpr double kRawPerGpuSecond = static_cast<double>(GpuTime::kRawPerGpuSecond);

Reason reason(ReasonToken token, std::string subject, std::string detail) {
  Reason r;
  r.token = token;
  r.subject = std::move(subject);
  r.detail = std::move(detail);
  return r;
}

std::string shown_path(const AccountNode& node) {
  return node.spec.path.empty() ? "(root)" : node.spec.path;
}

}  // namespace

// All limits on the path that bind now, nearest first.
void Engine::Impl::explain_limits(const Job& job, std::vector<Reason>& out) const {
  const MilliGpu least = least_milligpu(job);
  for (AccountId a = job.leaf; a; a = tree.node(a).parent) {
    const AccountNode& node = tree.node(a);
    for (const auto& [product, limit] : node.limit) {
      MilliGpu used = node.alloc();
      if (product != ProductId()) {
        used = 0;
        for (const ProductLevel& level : node.levels) {
          if (level.product == product) used = level.total();
        }
        if (only_product(request_of(job)) != product) continue;
      }
      if (used + least <= limit) continue;
      Reason r;
      r.token = least > limit ? ReasonToken::kExceedsMaxQuota : ReasonToken::kWaitingForQuota;
      r.subject = shown_path(node);
      r.need = least;
      r.have = std::max<MilliGpu>(0, limit - used);
      r.detail = "account " + shown_path(node) + " holds " + format_milligpu(used) +
                 " of its limit of " + format_milligpu(limit) + " GPUs; the job needs " +
                 format_milligpu(least);
      out.push_back(std::move(r));
    }
  }
}

void Engine::Impl::explain_place(const Job& job, std::size_t position,
                                 std::vector<Reason>& out) const {
  const Cluster& cluster = clusters.at(job.id.cluster());
  if (!cluster.synced) {
    out.push_back(reason(ReasonToken::kWaitingForNodes, cluster.name,
                         "the list of cluster " + cluster.name + " is not complete yet"));
    return;
  }
  std::vector<Reason> places = search.explain(Picture(fleet, kept_nodes), job.shape, job.id);
  out.insert(out.end(), places.begin(), places.end());
  if (!out.empty()) return;
  const bool place_unknown = position == 0 && job.state == JobState::kQueued;
  if (position > 1 || place_unknown) {
    Reason r = reason(ReasonToken::kOutranked, "",
                      "it fits, and others come first in the fair-share order");
    r.have = static_cast<std::int64_t>(position);
    out.push_back(std::move(r));
  } else {
    out.push_back(
        reason(ReasonToken::kPendingEvaluation, "", "it fits: the next pass looks at it"));
  }
}

std::vector<RankStep> Engine::Impl::ranking(const Job& job, TimeMs t) const {
  std::vector<AccountId> path;
  for (AccountId a = job.leaf; a; a = tree.node(a).parent) path.push_back(a);
  std::vector<RankStep> steps;
  for (std::size_t level = path.size(); level-- > 1;) {
    const AccountNode& parent = tree.node(path[level]);
    std::vector<Sibling> siblings;
    for (AccountId child : parent.children) {
      if (ready.queued_jobs(child) == 0) continue;
      const AccountNode& node = tree.node(child);
      Sibling s;
      s.id = child;
      s.shares = static_cast<double>(node.spec.shares);
      s.alloc = node.alloc();
      s.quota = node.quota_total;
      s.within_quota = node.quota_total > 0 && node.alloc() < node.quota_total;
      s.surplus = tree.sort_surplus(child, t);
      s.usage = tree.usage(child, t);
      siblings.push_back(s);
    }
    std::vector<OrderKey> keys(siblings.size());
    order_keys(policy.order, TargetShareRule(), siblings, keys);
    const std::vector<double> target = targets(TargetShareRule(), siblings);
    std::vector<std::size_t> index(siblings.size());
    for (std::size_t i = 0; i < index.size(); ++i) index[i] = i;
    std::sort(index.begin(), index.end(),
              [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
    double all_shares = 0;
    for (const Sibling& s : siblings) all_shares += s.shares;
    RankStep step;
    step.node = shown_path(parent);
    for (std::size_t i : index) {
      RankStep::Entry entry;
      entry.path = tree.node(siblings[i].id).spec.path;
      entry.shares = all_shares > 0 ? siblings[i].shares / all_shares : 0;
      entry.target = target[i];
      entry.usage_gpu_seconds = siblings[i].usage / kRawPerGpuSecond;
      entry.surplus_gpu_seconds = siblings[i].surplus / kRawPerGpuSecond;
      entry.alloc = siblings[i].alloc;
      entry.quota = siblings[i].quota;
      entry.on_path = siblings[i].id == path[level - 1];
      step.entries.push_back(std::move(entry));
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

std::vector<Reason> Engine::Impl::reasons_of(const Job& job, std::size_t position) const {
  std::vector<Reason> out;
  if (job.state == JobState::kIncomplete) {
    Reason r = reason(ReasonToken::kGangIncomplete, job.name, "not all pods of the gang exist yet");
    r.need = job.gang_size;
    r.have = std::count_if(job.pods.begin(), job.pods.end(), [](const Pod& p) {
      return p.state == PodState::kWaiting && !p.uid.empty();
    });
    return {std::move(r)};
  }
  if (job.state == JobState::kHeld) {
    out.push_back(reason(ReasonToken::kOnHold, text::job_id_text(job.id),
                         job.cancelling ? "the job is being cancelled" : "the job is held"));
  }
  if (const AccountId held = tree.first_held(job.leaf)) {
    const std::string path = shown_path(tree.node(held));
    out.push_back(reason(ReasonToken::kOnHold, path, "account " + path + " is held"));
  }
  explain_limits(job, out);
  if (job.shape) explain_place(job, position, out);
  std::stable_sort(out.begin(), out.end(),
                   [](const Reason& a, const Reason& b) { return a.token < b.token; });
  return out;
}

std::vector<Reason> Engine::reasons(JobId id, std::size_t position) const {
  const Job* job = std::as_const(*impl_).find_job(id);
  if (job == nullptr || !job->waits()) return {};
  return impl_->reasons_of(*job, position);
}

std::optional<Explanation> Engine::explain(JobId id, TimeMs t,
                                           std::optional<std::size_t> position) const {
  const Impl& s = *impl_;
  const Job* job = s.find_job(id);
  if (job == nullptr) return std::nullopt;
  Explanation out;
  out.job = s.row(*job, true);
  if (!job->waits()) return out;
  if (job->state == JobState::kQueued) {
    if (position) {
      out.position = *position;
    } else {
      const std::vector<JobId> order =
          s.ready.order(s.tree, s.policy.order, TargetShareRule(), s.tick.get(), t, s.ready.size());
      const auto it = std::find(order.begin(), order.end(), id);
      if (it != order.end()) out.position = static_cast<std::size_t>(it - order.begin()) + 1;
    }
    out.ranking = s.ranking(*job, t);
  }
  out.reasons = s.reasons_of(*job, out.position);
  return out;
}

}  // namespace subak

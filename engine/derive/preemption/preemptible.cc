#include "engine/derive/preemption/preemptible.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <span>

#include "core/limits.h"
#include "core/must.h"
#include "engine/state/jobs/job_request.h"
#include "model/policy.h"

namespace subak::derive {

namespace {

// True if `ends` holds for each live pod with a rank in the gang.
template <class Ends>
bool all_pods(const state::Job& job, const Ends& ends) {
  must(job.ranks() <= job.pods.size(), "each rank has a pod");
  const auto end = job.pods.begin() + static_cast<std::ptrdiff_t>(job.ranks());
  return std::all_of(job.pods.begin(), end,
                     [&](const state::Pod& pod) { return !pod.is_live() || ends(pod); });
}

}  // namespace

bool may_be_ended(const state::Job& job) {
  if (job.origin == JobOrigin::kApi) return true;
  return job.origin == JobOrigin::kPods &&
         all_pods(job, [](const state::Pod& pod) { return pod.controlled || is_closed(pod.gate); });
}

bool can_be_preempted(const State& s, const state::Job& job) {
  return may_be_ended(job) && !state::is_not_preemptible(s.fleet(), job);
}

bool was_preempted_since_event(const State& s, const state::Job& job) {
  const state::Preempted* const last = job.extras().preempted.get();
  return last != nullptr && last->at_ms >= s.claims().outside_event_ms();
}

bool is_fixed(const State& s, const state::Job& job) {
  if (!job.is_ours() || state::is_not_preemptible(s.fleet(), job)) return true;
  return job.origin == JobOrigin::kPods &&
         !all_pods(job, [](const state::Pod& pod) { return pod.controlled || pod.is_expected(); });
}

bool stays(const state::Job& job) {
  if (job.state != JobState::kEnding || job.stop != Cause::kPreempted) return false;
  return job.until_ms == 0 || job.run().end_refused_ms != 0;
}

bool reclaims(const State& s) {
  return s.policy().reclaim && s.policy().order == OrderPolicy::kTargetShare;
}

bool some_class_preempts(const State& s) {
  const auto& classes = s.policy().priority_classes;
  return s.policy().order == OrderPolicy::kTargetShare &&
         std::any_of(classes.begin(), classes.end(), [](const auto& one) { return one.preempts; });
}

namespace {

const PriorityClass* class_of(const State& s, const state::Job& job) {
  if (!job.has_class || job.leaf == kUnassigned) return nullptr;
  return class_with(s.policy(), job.priority, s.tree().node(job.leaf).spec.path);
}

}  // namespace

bool preempts_by_class(const State& s, const state::Job& job) {
  const PriorityClass* const of_job = class_of(s, job);
  return of_job != nullptr && of_job->preempts && some_class_preempts(s);
}

std::string class_name_of(const State& s, const state::Job& job) {
  const PriorityClass* const of_job = class_of(s, job);
  return of_job != nullptr ? of_job->name : std::string();
}

AccountId account_of(const State& s, const state::Job& job) {
  must(job.leaf != kUnassigned, "the job has an account");
  const AccountNode& leaf = s.tree().node(job.leaf);
  return leaf.spec.user ? leaf.parent : job.leaf;
}

void each_holder(const State& s, const std::function<void(const state::Job&)>& fn) {
  std::set<JobId> seen;
  s.allocations().each_node([&](NodeId node, std::span<const state::PodPlace> /*pods*/) {
    for (const state::Job* const job : s.allocations().jobs_on(node)) {
      if (seen.insert(job->id).second) fn(*job);
    }
  });
}

FixedHoldings fixed_holdings(const State& s) {
  FixedHoldings fixed(s.tree());
  each_holder(s, [&](const state::Job& job) {
    if (!is_fixed(s, job)) return;
    for (const state::Pod& pod : job.pods) {
      // A pod may run on a node that was never seen with GPUs. No quota promises such GPUs.
      const ProductId product = s.fleet().product_of(pod.slot.node);
      if (pod.holds_slot() && product) fixed.add(job.leaf, product, pod.slot.milligpu);
    }
  });
  return fixed;
}

DurationMs grace_of(const state::Job& job) {
  constexpr DurationMs kUsual = 30 * kSecondMs;
  DurationMs longest = job.extras().grace_ms;
  for (const state::Pod& pod : job.pods) {
    if (pod.is_live()) longest = std::max(longest, pod.grace_ms);
  }
  return longest == 0 ? kUsual : longest;
}

DurationMs time_to_end(const State& s, const state::Job& job) {
  return std::min(grace_of(job), s.policy().reclaim_max_grace_ms) + limits::kClaimPatienceMs;
}

}  // namespace subak::derive

// Bounds that all accounts share, and which account may still use them (accounting/shared_bound.h).
#include <string>

#include "accounting/shared_bound.h"
#include "core/limits.h"
#include "core/must.h"
#include "engine/decide/decide.h"

namespace subak::decide {

// All waiting jobs count, also held and incomplete ones.
std::optional<Error> queue_is_full(const Decision& d, AccountId account) {
  constexpr SharedBound kBound{limits::kMaxQueuedJobs, limits::kQueuedJobsReserve};
  const state::WaitingCount& waiting = d.s.jobs().waiting();
  const auto jobs = [&](AccountId id) { return waiting.jobs(id); };
  must(waiting.jobs(account) <= waiting.jobs(), "an account's waiting jobs are among all");
  if (may_take(kBound, d.s.tree(), account, waiting.jobs(), jobs)) return std::nullopt;
  return Error{ErrorCode::kExhausted, "queue", std::to_string(waiting.jobs()),
               "at most " + std::to_string(limits::kMaxQueuedJobs) + " queued jobs; " +
                   who_fills_text(d.s.tree(), jobs) + "; try later"};
}

// Pods of a gang that already waits may use the complete bound with its reserve, so that a gang
// whose first pods have come can become complete.
std::optional<Error> too_many_wait(const Decision& d, ClusterId cluster, const PodRecord& pod,
                                   AccountId account, bool joins) {
  constexpr SharedBound kBound{limits::kMaxGatedPods, limits::kGatedPodsReserve};
  const state::WaitingCount& waiting = d.s.jobs().waiting();
  const auto pods = [&](AccountId id) { return waiting.pods(cluster, id); };
  const std::size_t all = waiting.pods(cluster);
  must(waiting.pods(cluster, account) <= all, "an account's waiting pods are among all");
  const bool room =
      joins ? all < kBound.most + kBound.reserve : may_take(kBound, d.s.tree(), account, all, pods);
  if (room) return std::nullopt;
  return Error{ErrorCode::kExhausted, "queue", pod.ns + "/" + pod.name,
               "at most " + std::to_string(limits::kMaxGatedPods) +
                   " pods may wait in a cluster; " + who_fills_text(d.s.tree(), pods) +
                   "; it is taken in later"};
}

}  // namespace subak::decide

#include "server/edge/writes/write_queue.h"

#include <iterator>
#include <map>
#include <utility>

namespace subak {

void WriteQueue::want(Effect effect, bool inherited) {
  outdated_ = true;
  planned_.clear();
  put(std::move(effect), ++last_order_, inherited);
}

void WriteQueue::put(Effect effect, std::uint64_t order, bool inherited) {
  fence_.take(effect, inherited);
  const JobId job = effect.job;
  wanted_[job] = {std::move(effect), order};
}

void WriteQueue::confirm(std::vector<Effect> all, const Request& request, bool inherited) {
  const std::uint64_t asked = request.last_order;
  std::map<JobId, Effect> now_wanted;
  for (Effect& effect : all) now_wanted.emplace(effect.job, std::move(effect));
  for (auto& [job, effect] : now_wanted) {
    const auto known = wanted_.find(job);
    if (known != wanted_.end() && known->second.order > asked) continue;
    const std::uint64_t order = known == wanted_.end() ? ++last_order_ : known->second.order;
    put(std::move(effect), order, inherited);
    fence_.confirm(wanted_[job].effect, request.number);
  }
  std::erase_if(wanted_, [&](const auto& entry) {
    return entry.second.order <= asked && !now_wanted.contains(entry.first);
  });
  planned_.clear();
  outdated_ = true;
}

void WriteQueue::give_up(JobId job) {
  planned_.clear();
  const auto known = wanted_.find(job);
  if (known == wanted_.end()) return;
  known->second.given_up = true;
  known->second.order = UINT64_MAX;  // no request that was made so far knows of the report
}

void WriteQueue::answered_give_up(JobId job) {
  const auto known = wanted_.find(job);
  if (known != wanted_.end() && known->second.given_up) known->second.order = ++last_order_;
}

void WriteQueue::answered(const std::string& uid) {
  outdated_ = outdated_ || fence_.pods().contains(uid);
  if (cache_.outbox().is_answered(uid)) answered_.insert(uid);
}

void WriteQueue::took_effects() {
  for (const std::string& uid : std::exchange(answered_, {})) fence_.answered(uid, requests_);
}

void WriteQueue::withdraw(const std::string& uid) {
  fence_.withdraw(uid);
  outdated_ = true;
}

void WriteQueue::forget() {
  wanted_.clear();
  fence_.clear();
  answered_.clear();
  planned_.clear();
  withheld_.clear();
  known_withheld_.clear();
}

void WriteQueue::plan(const Attempts& attempts, TimeMs now_ms, std::int64_t monotonic_ms) {
  constexpr std::size_t kPlanned = 256;
  const bool due = due_ms_ != 0 && monotonic_ms >= due_ms_;
  if (!planned_.empty() || !(outdated_ || due)) return;
  fence_.prune(cache_);
  Plan plan = plan_writes(wanted_, fence_, cache_, attempts, now_ms, monotonic_ms, kPlanned);
  for (const JobId job : plan.settled) wanted_.erase(job);
  planned_.assign(std::make_move_iterator(plan.writes.begin()),
                  std::make_move_iterator(plan.writes.end()));
  set_withheld(std::move(plan.withheld));
  due_ms_ = plan.next_ms;
  outdated_ = planned_.size() == kPlanned;
}

void WriteQueue::set_withheld(std::vector<KubeWrite> withheld) {
  std::set<std::string> known;
  for (const KubeWrite& write : withheld) {
    if (known_withheld_.contains(write.uid)) known.insert(write.uid);
  }
  known_withheld_ = std::move(known);
  withheld_ = std::move(withheld);
  std::erase_if(withheld_,
                [&](const KubeWrite& write) { return known_withheld_.contains(write.uid); });
}

void WriteQueue::withheld_are_known() {
  for (const KubeWrite& write : withheld_) known_withheld_.insert(write.uid);
  withheld_.clear();
}

KubeWrite WriteQueue::take() {
  KubeWrite write = std::move(planned_.front());
  planned_.pop_front();
  outdated_ = outdated_ || planned_.empty();
  return write;
}

}  // namespace subak

#include "tools/demo_edge/edge.h"

#include <algorithm>
#include <chrono>

namespace subak::demo {
namespace {

constexpr std::int64_t kBindMs = 100;                          // as a kube-scheduler takes
constexpr std::int64_t kStartMs = 150;                         // as an image and a container take
constexpr std::int64_t kLeastPercent = 60, kMostPercent = 90;  // of a time limit that a pod runs
constexpr std::int64_t kApartMs = 150;   // between the ends of two pods that were kept
constexpr std::int64_t kStallMs = 2000;  // a timer that is later than this shows that the machine
                                         // stood still

std::uint64_t hash_of(const std::string& text) {  // FNV-1a
  std::uint64_t h = 1469598103934665603u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return h;
}

}  // namespace

void Edge::start() {
  threads_.emplace_back([this] { observe_loop(); });
  threads_.emplace_back([this] { effects_loop(); });
  threads_.emplace_back([this] { timer_loop(); });
}

void Edge::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    if (effects_context_ != nullptr) effects_context_->TryCancel();
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Edge::store(const v1::PodRecord& record) {
  const std::scoped_lock lock(mutex_);
  Pod& pod = pods_[record.uid()];
  pod.key = record.uid();
  pod.record = record;
  ++counts_.gated;
  v1::ObserveRequest event;
  *event.mutable_pod_seen()->mutable_pod() = record;
  send(std::move(event));
}

void Edge::set_duration(const std::string& job, std::int64_t ms) {
  const std::scoped_lock lock(mutex_);
  durations_[job] = ms;
  for (const auto& [key, pod] : pods_) {
    if (pod.job == job && pod.live() && pod.running) plan(pod, Step::kEnd, pod.running_ms + ms);
  }
}

void Edge::set_limit(const std::string& job, std::int64_t ms) {
  const std::scoped_lock lock(mutex_);
  limits_[job] = ms;
}

void Edge::keep_victims(bool keep) {
  const std::scoped_lock lock(mutex_);
  victims_.stay = keep;
  if (keep) return;
  std::int64_t at = wall_ms();
  for (const auto& [key, claimant] : victims_.told) {
    const Pod& pod = pods_.at(key);
    if (!pod.live()) continue;
    plan(pod, Step::kGiveBack, at);
    at += kApartMs;
  }
}

bool Edge::wait_lists(int lists, std::int64_t timeout_ms) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                           [&] { return counts_.lists >= lists; });
}

Edge::Counts Edge::counts() const {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

bool Edge::idle() const {
  const std::scoped_lock lock(mutex_);
  return std::all_of(pods_.begin(), pods_.end(),
                     [](const auto& entry) { return entry.second.end_acknowledged; });
}

std::vector<Pod> Edge::pods() const {
  const std::scoped_lock lock(mutex_);
  std::vector<Pod> out;
  for (const auto& [key, pod] : pods_) out.push_back(pod);
  return out;
}

std::map<std::string, std::string> Edge::told() const {
  const std::scoped_lock lock(mutex_);
  return victims_.told;
}

std::vector<std::string> Edge::complaints() const {
  const std::scoped_lock lock(mutex_);
  return complaints_;
}

std::string Edge::key_of(const v1::Effect& effect, const v1::EffectPod& place) {
  if (!place.uid().empty()) return place.uid();
  return effect.job_id() + "/" + std::to_string(place.rank()) + "/" +
         std::to_string(effect.attempt());
}

void Edge::on_effect(const v1::Effect& effect) {
  const std::scoped_lock lock(mutex_);
  const Counts before = counts_;
  ++counts_.effects;
  for (const v1::EffectPod& place : effect.pods()) {
    if (effect.kind() == v1::EFFECT_KIND_OPEN_GATE) open_gate(effect, place);
    if (effect.kind() == v1::EFFECT_KIND_EVICT) evict(effect, place);
  }
  const bool news = counts_.placed != before.placed || counts_.ended != before.ended ||
                    counts_.told != before.told;
  if (!news) ++counts_.effects_again;
}

void Edge::open_gate(const v1::Effect& effect, const v1::EffectPod& place) {
  const std::string key = key_of(effect, place);
  auto found = pods_.find(key);
  if (found == pods_.end()) {
    if (!place.uid().empty()) {
      complaints_.push_back("an effect names pod " + place.uid() + ", which does not exist");
      return;
    }
    found = pods_.try_emplace(key).first;
    found->second.key = key;
  }
  Pod& pod = found->second;
  if (pod.opened() || !pod.live()) return;  // delivered again
  pod.job = effect.job_id();
  pod.attempt = effect.attempt();
  pod.place = place;
  if (effect.has_hold_left()) {
    const auto& left = effect.hold_left();
    pod.hold_end_ms = boot_ms() + left.seconds() * 1000 + left.nanos() / 1'000'000;
  }
  pod.opened_ms = wall_ms();
  pod.opened_order = ++order_;
  pod.record.set_gated(false);
  ++counts_.placed;
  counts_.live_milligpu += place.milligpu();
  plan(pod, Step::kBind, pod.opened_ms + kBindMs);
}

void Edge::evict(const v1::Effect& effect, const v1::EffectPod& place) {
  const auto found = pods_.find(key_of(effect, place));
  if (found == pods_.end() || !found->second.live()) return;
  if (effect.cause() == v1::CAUSE_PREEMPTED) {
    return give_back(found->second, effect.preemption().claimant());
  }
  if (effect.cause() != v1::CAUSE_CANCELLED) {
    complaints_.push_back("job " + effect.job_id() +
                          " was evicted: " + v1::Cause_Name(effect.cause()));
  }
  ++counts_.evicted;
  end_pod(found->second, v1::CAUSE_CANCELLED);
}

void Edge::give_back(const Pod& pod, const std::string& claimant) {
  if (!victims_.told.try_emplace(pod.key, claimant).second) return;  // delivered again
  ++counts_.told;
  if (!victims_.stay) plan(pod, Step::kGiveBack, wall_ms() + pace_.give_back_ms);
}

std::int64_t Edge::duration_of(const Pod& pod) const {
  const auto set = durations_.find(pod.job);
  if (set != durations_.end()) return set->second;
  const auto limit = limits_.find(pod.job);
  const std::int64_t limit_ms = limit != limits_.end() ? limit->second : pod.record.time_limit_ms();
  if (limit_ms > 0) {
    constexpr std::uint64_t kSpread = kMostPercent - kLeastPercent + 1;
    const auto more = static_cast<std::int64_t>(hash_of(pod.job) % kSpread);
    return limit_ms * (kLeastPercent + more) / 100;
  }
  const auto spread = static_cast<std::uint64_t>(pace_.spread_ms);
  return pace_.shortest_ms + static_cast<std::int64_t>(hash_of(pod.job) % spread);
}

void Edge::plan(const Pod& pod, Step step, std::int64_t at_ms) {
  due_.emplace(at_ms, Due(pod.key, step));
  changed_.notify_all();
}

void Edge::timer_loop() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const std::int64_t now = wall_ms();
    if (due_.empty() || due_.begin()->first > now) {
      const std::int64_t wait = due_.empty() ? 1000 : due_.begin()->first - now;
      changed_.wait_for(lock, std::chrono::milliseconds(wait));
      const std::int64_t late = wall_ms() - (now + wait);
      if (late > kStallMs) counts_.stalled_ms += late;
      continue;
    }
    const Due due = due_.begin()->second;
    due_.erase(due_.begin());
    run_step(due.first, due.second);
  }
}

void Edge::run_step(const std::string& key, Step step) {
  Pod& pod = pods_.at(key);
  if (!pod.live()) return;
  const std::int64_t now = wall_ms();
  switch (step) {
    case Step::kBind:
      if (pod.from_api() && pod.hold_end_ms != 0 && boot_ms() > pod.hold_end_ms) {
        return answer_start(key, "its hold has ended");
      }
      pod.bound_ms = std::max(now, pod.opened_ms);
      ++counts_.bound;
      pod.record.set_node(pod.place.node());
      if (pod.from_api()) return ask_to_start(pod);
      send(bound_event(pod));
      plan(pod, Step::kRun, now + kStartMs);
      return;
    case Step::kRun:
      pod.running = true;
      pod.running_ms = now;
      pod.record.set_running(true);
      send(running_event(pod));
      plan(pod, Step::kEnd, now + duration_of(pod));
      return;
    case Step::kEnd:
      end_pod(pod, v1::CAUSE_FINISHED);
      return;
    case Step::kGiveBack:
      ++counts_.preempted;
      end_pod(pod, v1::CAUSE_PREEMPTED);
      return;
  }
}

// `refused`: why it does not start; empty: it does.
void Edge::answer_start(const std::string& key, const std::string& refused) {
  Pod& pod = pods_.at(key);
  if (!pod.live() || pod.started) return;
  if (!refused.empty()) {
    complaints_.push_back("pod " + key + " came after its hold: " + refused);
    return end_pod(pod, v1::CAUSE_EXPIRED);
  }
  pod.started = true;
  plan(pod, Step::kRun, wall_ms() + kStartMs);
}

void Edge::end_pod(Pod& pod, v1::Cause cause) {
  pod.ended_ms = std::max(wall_ms(), pod.bound_ms);
  pod.ended_order = ++order_;
  pod.cause = cause;
  ++counts_.ended;
  counts_.live_milligpu -= pod.place.milligpu();
  send(gone_event(pod), pod.key);
}

}  // namespace subak::demo

#include "sim/driver.h"

#include <algorithm>
#include <cassert>

#include "core/decimal.h"

namespace subak::sim {
namespace {

constexpr std::uint32_t kNoJob = 0xffff'ffff;
constexpr std::size_t kProgressEvery = 512;

}  // namespace

Driver::Driver(const Workload& workload, Port& port, Observer& observer, VictimModel victims)
    : workload_(workload),
      port_(port),
      observer_(observer),
      victims_(victims),
      live_(workload.jobs.size()) {
  now_ = workload.from_ms;
}

std::optional<Error> Driver::set_up(const Policy& policy) {
  in::SetCluster cluster;
  cluster.name = kClusterName;
  cluster.mode = Mode::kEnforce;
  cluster.reason = "simulation";
  in::ImportNodes nodes;
  nodes.cluster = kClusterName;
  nodes.nodes = workload_.nodes;
  nodes.reason = "simulation";
  std::vector<in::Body> inputs{cluster, nodes, in::SetPolicy{policy, {}}};
  for (const Team& team : workload_.teams) {
    in::SetAccount account;
    account.spec.path = team.account;
    account.spec.shares = team.shares;
    if (team.quota > 0) account.spec.quota = {{kAnyProduct, team.quota}};
    account.reason = "simulation";
    inputs.emplace_back(std::move(account));
  }
  for (in::Body& body : inputs) {
    Reply reply = port_.send(now_, std::move(body));
    if (reply.error) return reply.error;
  }
  port_.pass(now_);
  return std::nullopt;
}

void Driver::submit(std::uint32_t index) {
  const SimJob& job = workload_.jobs[index];
  if (!job.placeable) {
    live_[index].state = State::kDone;
    return;
  }
  in::SubmitJob in;
  in.cluster = kClusterName;
  in.account = workload_.teams[job.team].account;
  in.user = job.user;
  in.name = job.name;
  in.request = workload_.requests[job.request];
  in.time_limit_ms = job.time_limit_ms;
  // Without a grace, the engine assumes the default of VictimModel.
  if (victims_.grace_ms != VictimModel().grace_ms) in.grace_ms = victims_.grace_ms;
  const Reply reply = port_.send(now_, std::move(in));
  if (reply.error) {
    live_[index].state = State::kDone;
    ++refused_;
    return;
  }
  const auto sequence = static_cast<std::size_t>(reply.job.sequence());
  if (sequence >= by_sequence_.size()) by_sequence_.resize(sequence * 2 + 64, kNoJob);
  by_sequence_[sequence] = index;
  live_[index].id = reply.job;
  live_[index].state = State::kQueued;
  live_[index].progress_ms = job.before_ms;
  observer_.submitted(index, reply.job, now_);
}

std::optional<std::uint32_t> Driver::index_of(JobId id) const {
  const auto sequence = static_cast<std::size_t>(id.sequence());
  const std::uint32_t index = sequence < by_sequence_.size() ? by_sequence_[sequence] : kNoJob;
  return index == kNoJob ? std::nullopt : std::optional(index);
}

void Driver::end_at(std::uint32_t index, TimeMs t) {
  live_[index].end_ms = t;
  ends_.emplace(t, index);
}

void Driver::drop_old_ends() {
  while (!ends_.empty() && live_[ends_.top().second].end_ms != ends_.top().first) ends_.pop();
}

void Driver::start(const Effect& effect) {
  const auto index = index_of(effect.job);
  if (!index || live_[*index].state != State::kQueued) return;  // repeated
  for (const EffectPod& pod : effect.pods) {
    in::PodBound bound;
    bound.cluster = kClusterName;
    bound.pod = {"", effect.job, pod.rank};
    bound.node = pod.node;
    // A later pass may have released the hold already.
    if (port_.send(now_, std::move(bound)).error) return;
  }
  for (const EffectPod& pod : effect.pods) {
    in::PodRunning running;
    running.cluster = kClusterName;
    running.pod = {"", effect.job, pod.rank};
    port_.send(now_, std::move(running));
  }
  Live& live = live_[*index];
  const SimJob& job = workload_.jobs[*index];
  live.state = State::kRunning;
  live.started_ms = now_;
  end_at(*index, now_ + job.before_ms + job.duration_ms - live.progress_ms);
  observer_.started(*index, now_, effect.pods);
}

void Driver::evict(const Effect& effect) {
  const auto index = index_of(effect.job);
  if (!index || effect.cause != Cause::kPreempted) return;
  if (live_[*index].state != State::kRunning) return;  // repeated
  live_[*index].state = State::kEnding;
  live_[*index].asked_ms = now_;
  end_at(*index, now_ + victims_.grace_ms);
}

void Driver::settle() {
  for (std::vector<Effect> effects = port_.pass(now_); !effects.empty();
       effects = port_.pass(now_)) {
    for (const Effect& effect : effects) {
      if (effect.kind == EffectKind::kOpenGate) start(effect);
      if (effect.kind == EffectKind::kEvict) evict(effect);
    }
  }
  observer_.settled(now_);
}

void Driver::end(std::uint32_t index) {
  const std::uint32_t pods = workload_.requests[workload_.jobs[index].request].pods();
  const bool preempted = live_[index].state == State::kEnding;
  for (std::uint32_t rank = 0; rank < pods; ++rank) {
    in::PodGone gone;
    gone.cluster = kClusterName;
    gone.pod = {"", live_[index].id, rank};
    gone.cause = preempted ? Cause::kPreempted : Cause::kFinished;
    port_.send(now_, std::move(gone));
  }
  live_[index].end_ms = kNoEnd;
  if (preempted) return wait_again(index);
  live_[index].state = State::kDone;
  ++finished_;
  observer_.ended(index, now_);
}

void Driver::wait_again(std::uint32_t index) {
  Live& live = live_[index];
  const DurationMs progress = live.progress_ms + (live.asked_ms - live.started_ms);
  const DurationMs step = victims_.checkpoint_ms;
  live.progress_ms = step > 0 ? progress - progress % step : 0;
  live.state = State::kQueued;
  observer_.preempted(index, live.id, now_, progress - live.progress_ms + (now_ - live.asked_ms));
}

void Driver::submit_warm() {
  for (; next_ < live_.size() && workload_.jobs[next_].warm; ++next_) {
    submit(next_);
    settle();
  }
}

void Driver::run(const std::function<void(double)>& progress) {
  submit_warm();
  for (std::size_t step = 0;; ++step) {
    if (progress && step % kProgressEvery == 0) {
      progress(static_cast<double>(finished_) / static_cast<double>(live_.size()));
    }
    std::optional<TimeMs> event;
    if (next_ < live_.size()) event = workload_.jobs[next_].submit_ms;
    drop_old_ends();
    if (!ends_.empty()) event = std::min(event.value_or(ends_.top().first), ends_.top().first);
    if (!event) break;
    const std::optional<TimeMs> deadline = port_.next_deadline();
    now_ = std::max(now_, std::min(*event, deadline.value_or(*event)));
    // One tick writes only a limited number of ledger rows.
    while (port_.next_deadline().value_or(now_ + 1) <= now_) port_.tick(now_);
    for (; !ends_.empty() && ends_.top().first <= now_; drop_old_ends()) {
      const std::uint32_t job = ends_.top().second;
      ends_.pop();
      end(job);
    }
    for (; next_ < live_.size() && workload_.jobs[next_].submit_ms <= now_; ++next_) submit(next_);
    settle();
  }
  if (progress) progress(1);
}

}  // namespace subak::sim

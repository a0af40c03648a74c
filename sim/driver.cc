#include "sim/driver.h"

#include <algorithm>
#include <cassert>

#include "core/decimal.h"

namespace subak::sim {
namespace {

constexpr std::uint32_t kNoJob = 0xffff'ffff;
constexpr std::size_t kProgressEvery = 512;

}  // namespace

Driver::Driver(const Workload& workload, Port& port, Observer& observer)
    : workload_(workload), port_(port), observer_(observer), live_(workload.jobs.size()) {
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
  std::vector<in::Body> inputs{cluster, nodes, in::SetPolicy{policy}};
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
  const Reply reply = port_.send(now_, std::move(in));
  if (reply.error) {
    live_[index].state = State::kDone;
    ++refused_;
    return;
  }
  const auto sequence = static_cast<std::size_t>(reply.job.sequence());
  if (sequence >= by_sequence_.size()) by_sequence_.resize(sequence * 2 + 64, kNoJob);
  by_sequence_[sequence] = index;
  live_[index] = {reply.job, State::kQueued};
  observer_.submitted(index, reply.job, now_);
}

void Driver::start(const Effect& effect) {
  if (effect.kind != EffectKind::kOpenGate) return;
  const auto sequence = static_cast<std::size_t>(effect.job.sequence());
  const std::uint32_t index = sequence < by_sequence_.size() ? by_sequence_[sequence] : kNoJob;
  if (index == kNoJob || live_[index].state != State::kQueued) return;  // repeated
  for (const EffectPod& pod : effect.pods) {
    in::PodBound bound;
    bound.cluster = kClusterName;
    bound.pod = {"", effect.job, pod.rank};
    bound.node = pod.node;
    port_.send(now_, std::move(bound));
  }
  for (const EffectPod& pod : effect.pods) {
    in::PodRunning running;
    running.cluster = kClusterName;
    running.pod = {"", effect.job, pod.rank};
    port_.send(now_, std::move(running));
  }
  live_[index].state = State::kRunning;
  ends_.emplace(now_ + workload_.jobs[index].duration_ms, index);
  observer_.started(index, now_, effect.pods);
}

void Driver::settle() {
  for (std::vector<Effect> effects = port_.pass(now_); !effects.empty();
       effects = port_.pass(now_)) {
    for (const Effect& effect : effects) start(effect);
  }
  observer_.settled(now_);
}

void Driver::end(std::uint32_t index) {
  const std::uint32_t pods = workload_.requests[workload_.jobs[index].request].pods();
  for (std::uint32_t rank = 0; rank < pods; ++rank) {
    in::PodGone gone;
    gone.cluster = kClusterName;
    gone.pod = {"", live_[index].id, rank};
    gone.cause = Cause::kFinished;
    port_.send(now_, std::move(gone));
  }
  live_[index].state = State::kDone;
  ++finished_;
  observer_.ended(index, now_);
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
    if (!ends_.empty()) event = std::min(event.value_or(ends_.top().first), ends_.top().first);
    if (!event) break;
    const std::optional<TimeMs> deadline = port_.next_deadline();
    now_ = std::max(now_, std::min(*event, deadline.value_or(*event)));
    // One turn closes only so many rows of a day.
    while (port_.next_deadline().value_or(now_ + 1) <= now_) port_.tick(now_);
    while (!ends_.empty() && ends_.top().first <= now_) {
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

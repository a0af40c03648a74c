#include "sim/driver.h"

#include <algorithm>
#include <cassert>

#include "core/decimal.h"

namespace subak::sim {
namespace {

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
  in.cluster = workload_.clusters[job.past.cluster];
  in.account = workload_.teams[job.team].account;
  in.user = job.user;
  in.name = job.name;
  in.request = workload_.requests[job.request];
  in.time_limit_ms = job.time_limit_ms;
  in.priority = job.past.priority;
  in.priority_class = job.past.priority_class;
  in.held = job.past.held;
  in.grace_ms = job.past.grace_ms;
  // Without a grace, the engine assumes the default of VictimModel.
  if (grace_of(index) != VictimModel().grace_ms) in.grace_ms = grace_of(index);
  const Reply reply = port_.send(now_, std::move(in));
  if (reply.error) {
    live_[index].state = State::kDone;
    ++refused_;
    return;
  }
  by_id_[reply.job] = index;
  live_[index].id = reply.job;
  live_[index].state = State::kQueued;
  live_[index].progress_ms = job.before_ms;
  observer_.submitted(index, reply.job, now_);
}

void Driver::take_over(std::uint32_t index) {
  const SimJob& job = workload_.jobs[index];
  Live& live = live_[index];
  live.id = job.past.known;
  by_id_[job.past.known] = index;
  live.state = job.warm ? State::kRunning : State::kQueued;
  live.progress_ms = job.before_ms;
  observer_.submitted(index, job.past.known, now_);
  if (!job.warm) return;
  live.started_ms = now_;
  end_at(index, now_ + job.duration_ms);
  observer_.started(index, now_, {});
}

void Driver::edit(const Edit& edit) {
  in::Body body = edit.body;
  const bool of_job = edit.job != kNoJob;
  if (of_job && (!live_[edit.job].id || live_[edit.job].state == State::kDone)) return;
  auto* const cancel = std::get_if<in::CancelJob>(&body);
  if (cancel != nullptr) cancel->job = live_[edit.job].id;
  if (auto* const hold = std::get_if<in::HoldJob>(&body)) {
    if (live_[edit.job].state != State::kQueued) return;
    hold->job = live_[edit.job].id;
  }
  const std::optional<Error> error = port_.send(now_, std::move(body)).error;
  if (error) {
    ++refused_edits_;
    if (!first_refusal_) first_refusal_ = error;
  } else if (cancel != nullptr && live_[edit.job].state == State::kQueued) {
    live_[edit.job].state = State::kDone;
    observer_.cancelled(edit.job, now_);
  }
}

void Driver::take_back() {
  for (const JobId id : port_.waiting_again()) {
    const auto index = index_of(id);
    if (!index) continue;
    Live& live = live_[*index];
    if (live.state != State::kRunning && live.state != State::kEnding) continue;
    live.end_ms = kNoEnd;
    live.asked_ms = now_;
    wait_again(*index);
  }
}

DurationMs Driver::grace_of(std::uint32_t index) const {
  const DurationMs own = workload_.jobs[index].past.grace_ms;
  return own != 0 ? own : victims_.grace_ms;
}

std::optional<std::uint32_t> Driver::index_of(JobId id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? std::nullopt : std::optional(found->second);
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
  const std::string& cluster = workload_.clusters[workload_.jobs[*index].past.cluster];
  for (const EffectPod& pod : effect.pods) {
    in::PodBound bound;
    bound.cluster = cluster;
    bound.pod = {"", effect.job, pod.rank};
    bound.node = pod.node;
    // A later pass may have released the hold already.
    if (port_.send(now_, std::move(bound)).error) return;
  }
  for (const EffectPod& pod : effect.pods) {
    in::PodRunning running;
    running.cluster = cluster;
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
  if (!index) return;
  Live& live = live_[*index];
  if (live.state != State::kRunning || live.asked != Cause::kNone) return;  // repeated
  live.asked = effect.cause;
  live.asked_ms = now_;
  if (comes_back(effect.cause)) {
    live.state = State::kEnding;
    end_at(*index, now_ + grace_of(*index));
  } else if (live.end_ms > now_ + grace_of(*index)) {
    end_at(*index, now_ + grace_of(*index));
  }
}

void Driver::settle() {
  for (std::vector<Effect> effects = port_.pass(now_); !effects.empty();
       effects = port_.pass(now_)) {
    take_back();
    for (const Effect& effect : effects) {
      if (effect.kind == EffectKind::kOpenGate) start(effect);
      if (effect.kind == EffectKind::kEvict) evict(effect);
    }
  }
  take_back();
  observer_.settled(now_);
}

void Driver::end(std::uint32_t index) {
  const std::uint32_t pods = workload_.requests[workload_.jobs[index].request].pods();
  const bool comes_again = live_[index].state == State::kEnding;
  const Cause cause = comes_again ? live_[index].asked : Cause::kFinished;
  for (std::uint32_t rank = 0; rank < pods; ++rank) {
    in::PodGone gone;
    gone.cluster = workload_.clusters[workload_.jobs[index].past.cluster];
    gone.pod = {"", live_[index].id, rank};
    gone.cause = cause;
    port_.send(now_, std::move(gone));
  }
  live_[index].end_ms = kNoEnd;
  if (comes_again) return wait_again(index);
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
  live.asked = Cause::kNone;
  observer_.preempted(index, live.id, now_, progress - live.progress_ms + (now_ - live.asked_ms));
}

void Driver::begin() {
  const auto is_known = [this] { return next_ < live_.size() && workload_.jobs[next_].past.known; };
  const bool has_known = is_known();
  for (; is_known(); ++next_) take_over(next_);
  if (has_known) settle();
  for (; next_ < live_.size() && workload_.jobs[next_].warm; ++next_) {
    submit(next_);
    settle();
  }
}

std::optional<TimeMs> Driver::next_event() {
  std::optional<TimeMs> event;
  const auto consider = [&event](TimeMs t) { event = std::min(event.value_or(t), t); };
  if (next_ < live_.size()) consider(workload_.jobs[next_].submit_ms);
  if (next_edit_ < workload_.edits.size()) consider(workload_.edits[next_edit_].at_ms);
  drop_old_ends();
  if (!ends_.empty()) consider(ends_.top().first);
  return event;
}

void Driver::step() {
  // One tick writes only a limited number of ledger rows.
  while (port_.next_deadline().value_or(now_ + 1) <= now_) port_.tick(now_);
  take_back();
  for (drop_old_ends(); !ends_.empty() && ends_.top().first <= now_; drop_old_ends()) {
    const std::uint32_t job = ends_.top().second;
    ends_.pop();
    end(job);
  }
  const auto& edits = workload_.edits;
  for (; next_edit_ < edits.size() && edits[next_edit_].at_ms <= now_; ++next_edit_) {
    edit(edits[next_edit_]);
  }
  take_back();
  const auto& jobs = workload_.jobs;
  for (; next_ < live_.size() && jobs[next_].submit_ms <= now_; ++next_) {
    if (jobs[next_].past.after_pass) settle();
    submit(next_);
  }
  settle();
}

bool Driver::run(const std::function<bool(double)>& progress) {
  begin();
  for (std::size_t step_number = 0;; ++step_number) {
    if (progress && step_number % kProgressEvery == 0) {
      const auto jobs = static_cast<double>(std::max<std::size_t>(live_.size(), 1));
      if (!progress(static_cast<double>(finished_) / jobs)) return false;
    }
    const std::optional<TimeMs> event = next_event();
    if (!event) break;
    const std::optional<TimeMs> deadline = port_.next_deadline();
    now_ = std::max(now_, std::min(*event, deadline.value_or(*event)));
    step();
  }
  if (progress) progress(1);
  return true;
}

}  // namespace subak::sim

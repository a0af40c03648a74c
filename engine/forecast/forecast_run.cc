#include "engine/forecast/forecast_run.h"

#include <algorithm>
#include <utility>

#include "core/limits.h"
#include "core/must.h"
#include "engine/derive/deadlines.h"
#include "engine/forecast/run_times.h"

namespace subak {

Forecast::Forecast(std::uint64_t seq, TimeMs time_ms, TimeMs until_ms, bool whole,
                   std::vector<Start> starts, std::vector<Place> places)
    : seq_(seq),
      time_ms_(time_ms),
      until_ms_(until_ms),
      whole_(whole),
      starts_(std::move(starts)),
      places_(std::move(places)) {
  std::sort(starts_.begin(), starts_.end(),
            [](const Start& a, const Start& b) { return a.job < b.job; });
  must(time_ms_ <= until_ms_, "a forecast ends after it begins");
  must(std::none_of(starts_.begin(), starts_.end(),
                    [this](const Start& s) {
                      return std::size_t{s.first_place} + s.places > places_.size();
                    }),
       "the placement of a start is among all");
  assumed_ = std::any_of(starts_.begin(), starts_.end(), [](const Start& s) { return s.assumed; });
}

const Forecast::Start* Forecast::find(JobId id) const {
  const auto it = std::lower_bound(starts_.begin(), starts_.end(), id,
                                   [](const Start& s, JobId of) { return s.job < of; });
  return it == starts_.end() || it->job != id ? nullptr : &*it;
}

std::optional<TimeMs> Forecast::start(JobId id) const {
  const Start* const found = find(id);
  return found != nullptr ? std::optional(found->at_ms) : std::nullopt;
}

Forecast make_forecast(const ForecastBasis& basis, const std::function<bool()>& go_on,
                       JobId until) {
  return decide::ForecastRun(basis).run(go_on, until);
}

namespace decide {

ForecastRun::ForecastRun(const ForecastBasis& basis)
    : basis_(basis), search_(state_.fleet()), now_(basis.time_ms) {
  for (const Fact& fact : basis.facts) state_.apply(fact);
  state_.set_seq(basis.seq);
  must(state_.now() <= now_, "a forecast begins at or after its basis");
  state_.advance(now_);
  if (basis.run_times.empty()) predicted_ = derive::run_times(state_, basis.ended, now_);
  for (const JobId id : state_.jobs().table().ids()) {
    const state::Job& job = state_.jobs().at(id);
    if (job.waits()) waiting_.insert(id);
    if (job.pods_holding() > 0) begin(job);
  }
}

void ForecastRun::look() {
  for (const Fact& fact : d_.out.facts) {
    if (const auto* f = std::get_if<fact::AttemptStarted>(&fact.body)) begun_.push_back(f->id);
    if (const auto* f = std::get_if<fact::StopAsked>(&fact.body)) stopped_.push_back(f->id);
  }
  d_.out.facts.clear();
}

TimeMs ForecastRun::begin(const state::Job& job) {
  must(job.pods_holding() > 0, "a job that begins holds something");
  for (std::uint32_t rank = 0; rank < job.pods.size(); ++rank) {
    if (job.pods[rank].state == PodState::kHeld) {
      charge(d_, job, rank, now_, UsageState::kHeld, job.leaf);
      d_.emit(fact::PodBound{job.id, rank, now_, job.pods[rank].slot});
    }
    if (job.pods[rank].state == PodState::kBound) {
      const state::Pod& pod = job.pods[rank];
      clear_backoff(d_, pod.slot.node, state::shape_of(state_.fleet(), pod), job.id);
    }
  }
  const RunTime run = run_time(job.id);
  const TimeMs end_ms = std::max(now_, job.run().started_ms + run.ms);
  must(end_ms >= now_, "a run ends after it begins");
  ends_.push({end_ms, job.id, job.attempt, run.assumed || rests_on_assumed(job)});
  look();
  return end_ms;
}

RunTime ForecastRun::run_time(JobId id) const {
  const RunTimes& run_times = basis_.run_times.empty() ? predicted_ : basis_.run_times;
  const auto run = run_times.find(id);
  return run == run_times.end() ? RunTime{limits::kGuessedRunMs, true} : run->second;
}

bool ForecastRun::rests_on_assumed(const state::Job& job) const {
  if (assumed_.now || assumed_.ended_on.empty()) return assumed_.now;
  return std::any_of(job.pods.begin(), job.pods.end(), [this](const state::Pod& pod) {
    return pod.holds_slot() && assumed_.ended_on.contains(pod.slot.node);
  });
}

void ForecastRun::note_start(const state::Job& job, TimeMs end_ms) {
  const std::size_t before = places_.size();
  for (const state::Pod& pod : job.pods) {
    if (!pod.holds_slot() || pod.slot.milligpu == 0) continue;
    if (places_.size() == before || places_.back().node != pod.slot.node) {
      places_.push_back({pod.slot.node, 0});
    }
    places_.back().milligpu += pod.slot.milligpu;
  }
  if (places_.size() > limits::kForecastPlaces) places_.resize(before);
  must(places_.size() >= before && end_ms >= now_, "a start has its nodes or none");
  starts_.push_back({job.id, now_, end_ms, static_cast<std::uint32_t>(before),
                     static_cast<std::uint32_t>(places_.size() - before), rests_on_assumed(job),
                     run_time(job.id).assumed});
}

void ForecastRun::stop(JobId id) {
  const state::Job& job = state_.jobs().at(id);
  for (std::uint32_t rank = 0; rank < job.pods.size(); ++rank) {
    if (job.pods[rank].holds_slot()) end_pod(d_, id, rank, now_, Cause::kFinished);
  }
  must(job.pods_holding() == 0, "a job that stopped holds nothing");
  look();
}

void ForecastRun::settle() {
  while (state_.pass_due().now) {  // a new state is always due
    state_.advance_tick();
    decide(d_, in::Pass{}, memory_);
    look();
    for (const JobId id : std::exchange(stopped_, {})) stop(id);
    for (const JobId id : std::exchange(begun_, {})) {
      const state::Job& job = state_.jobs().at(id);
      if (job.state != JobState::kStarting) continue;
      const TimeMs end_ms = begin(job);
      if (waiting_.erase(id) > 0) note_start(job, end_ms);
    }
  }
}

void ForecastRun::end_what_is_due() {
  while (!ends_.empty() && ends_.top().at_ms <= now_) {
    const End end = ends_.top();
    ends_.pop();
    const state::Job* const job = state_.jobs().find(end.job);
    if (job == nullptr) continue;
    must(end.attempt <= job->attempt, "an end is of an attempt that has begun");
    if (job->attempt != end.attempt) continue;
    if (end.assumed) {
      assumed_.now = true;
      for (const state::Pod& pod : job->pods) {
        if (pod.holds_slot()) assumed_.ended_on.insert(pod.slot.node);
      }
    }
    stop(end.job);
  }
  // One turn writes only some of the due rows.
  while (derive::next_deadline(state_).value_or(now_ + 1) <= now_) {
    decide(d_, in::Tick{});
    look();
  }
}

void ForecastRun::advance(TimeMs t) {
  if (t > now_) assumed_.now = false;
  now_ = std::max(now_, t);
  must(state_.now() <= now_, "time does not go back");
  state_.advance(now_);
  end_what_is_due();
  settle();
}

// Once no job holds GPUs, only these let a job start: the end of a wait, a hold or a drain, and a
// budget that has more left.
std::optional<TimeMs> ForecastRun::next_time() const {
  if (!ends_.empty()) {
    const TimeMs end = ends_.top().at_ms;
    return std::min(end, derive::next_deadline(state_).value_or(end));
  }
  std::optional<TimeMs> next = state_.node_backoff().next_end();
  if (const TimeMs allowed_ms = state_.pass_due().at_ms; allowed_ms < state::kNever) {
    next = std::min(next.value_or(allowed_ms), allowed_ms);
  }
  const auto consider = [&next](const auto& due) {
    if (due && due->first < next.value_or(state::kNever)) next = due->first;
  };
  consider(derive::next_hold_end(state_));
  consider(state_.nodes().next_drain());
  return next;
}

bool ForecastRun::somebody_may_start() const {
  if (state_.jobs().ready().size() > 0) return true;
  const auto& until = state_.jobs().times().deadlines();
  return std::any_of(until.begin(), until.end(), [this](const auto& entry) {
    return state_.jobs().at(entry.second).state == JobState::kPaused;
  });
}

Forecast ForecastRun::run(const std::function<bool()>& go_on, JobId goal) {
  const TimeMs until = basis_.time_ms + limits::kForecastAheadMs;
  bool whole = true;
  advance(now_);
  while (somebody_may_start() && (!goal || waiting_.contains(goal))) {
    const std::optional<TimeMs> next = next_time();
    if (!next) break;
    must(*next >= now_, "what happens next lies ahead");
    whole = *next <= until && starts_.size() < limits::kForecastStarts && (!go_on || go_on());
    if (!whole) break;
    advance(*next);
  }
  return {basis_.seq, basis_.time_ms,     std::min(now_, until),
          whole,      std::move(starts_), std::move(places_)};
}

}  // namespace decide
}  // namespace subak

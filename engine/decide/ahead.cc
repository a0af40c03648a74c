#include "engine/decide/ahead.h"

#include <algorithm>
#include <utility>

#include "core/limits.h"
#include "engine/derive/deadlines.h"
#include "engine/derive/run_times.h"

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
}

std::optional<TimeMs> Forecast::start(JobId id) const {
  const auto it = std::lower_bound(starts_.begin(), starts_.end(), id,
                                   [](const Start& s, JobId of) { return s.job < of; });
  if (it == starts_.end() || it->job != id) return std::nullopt;
  return it->at_ms;
}

Forecast make_forecast(const ForecastBasis& basis, const std::function<bool()>& go_on,
                       JobId until) {
  return decide::Ahead(basis).run(go_on, until);
}

namespace decide {

Ahead::Ahead(const ForecastBasis& basis)
    : basis_(basis), search_(state_.fleet()), now_(basis.time_ms) {
  for (const Fact& fact : basis.facts) state_.apply(fact);
  state_.set_seq(basis.seq);
  state_.advance(now_);
  if (basis.run_times.empty()) predicted_ = derive::run_times(state_, basis.ended, now_);
  for (const JobId id : state_.jobs().ids()) {
    const state::Job& job = state_.jobs().at(id);
    if (job.waits()) waiting_.insert(id);
    if (job.pods_holding() > 0) begin(job);
  }
}

void Ahead::look() {
  for (const Fact& fact : d_.out.facts) {
    if (const auto* f = std::get_if<fact::AttemptStarted>(&fact.body)) begun_.push_back(f->id);
    if (const auto* f = std::get_if<fact::StopAsked>(&fact.body)) stopped_.push_back(f->id);
  }
  d_.out.facts.clear();
}

TimeMs Ahead::begin(const state::Job& job) {
  for (std::uint32_t rank = 0; rank < job.pods.size(); ++rank) {
    if (job.pods[rank].state == PodState::kHeld) {
      charge(d_, job, rank, now_, UsageState::kHeld, job.leaf);
      d_.emit(fact::PodBound{job.id, rank, now_, job.pods[rank].slot});
    }
    if (job.pods[rank].state == PodState::kBound) {
      const state::Pod& pod = job.pods[rank];
      forgive_node(d_, pod.slot.node, state_.jobs().shape_of(pod), job.id);
    }
  }
  const RunTimes& run_times = basis_.run_times.empty() ? predicted_ : basis_.run_times;
  const auto run = run_times.find(job.id);
  const DurationMs run_ms = run == run_times.end() ? limits::kGuessedRunMs : run->second;
  const TimeMs end_ms = std::max(now_, job.run().started_ms + run_ms);
  ends_.push({end_ms, job.id, job.attempt});
  look();
  return end_ms;
}

void Ahead::note_start(const state::Job& job, TimeMs end_ms) {
  const std::size_t before = places_.size();
  for (const state::Pod& pod : job.pods) {
    if (!pod.holds_slot() || pod.slot.milligpu == 0) continue;
    if (places_.size() == before || places_.back().node != pod.slot.node) {
      places_.push_back({pod.slot.node, 0});
    }
    places_.back().milligpu += pod.slot.milligpu;
  }
  if (places_.size() > limits::kForecastPlaces) places_.resize(before);
  starts_.push_back({job.id, now_, end_ms, static_cast<std::uint32_t>(before),
                     static_cast<std::uint32_t>(places_.size() - before)});
}

void Ahead::stop(JobId id) {
  const state::Job& job = state_.jobs().at(id);
  for (std::uint32_t rank = 0; rank < job.pods.size(); ++rank) {
    if (job.pods[rank].holds_slot()) end_pod(d_, id, rank, now_, Cause::kFinished);
  }
  look();
}

void Ahead::settle() {
  while (state_.pass_due()) {  // as a new state's always is
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

void Ahead::end_what_is_due() {
  while (!ends_.empty() && ends_.top().at_ms <= now_) {
    const End end = ends_.top();
    ends_.pop();
    const state::Job* const job = state_.jobs().find(end.job);
    if (job != nullptr && job->attempt == end.attempt) stop(end.job);
  }
  while (derive::next_deadline(state_).value_or(now_ + 1) <= now_) {  // so many rows in one turn
    decide(d_, in::Tick{});
    look();
  }
}

void Ahead::advance(TimeMs t) {
  now_ = std::max(now_, t);
  state_.advance(now_);
  end_what_is_due();
  settle();
}

// Once nothing holds a place, only a wait or a drain that is over lets somebody start.
std::optional<TimeMs> Ahead::next_time() const {
  if (!ends_.empty()) {
    const TimeMs end = ends_.top().at_ms;
    return std::min(end, derive::next_deadline(state_).value_or(end));
  }
  std::optional<TimeMs> next = state_.bars().next_end();
  const auto consider = [&next](const auto& due) {
    if (due && due->first < next.value_or(state::kNever)) next = due->first;
  };
  consider(derive::next_hold_end(state_));
  consider(state_.nodes().next_drain());
  return next;
}

bool Ahead::somebody_may_start() const {
  if (state_.jobs().ready().size() > 0) return true;
  const auto& until = state_.jobs().deadlines();
  return std::any_of(until.begin(), until.end(), [this](const auto& entry) {
    return state_.jobs().at(entry.second).state == JobState::kPaused;
  });
}

Forecast Ahead::run(const std::function<bool()>& go_on, JobId goal) {
  const TimeMs until = basis_.time_ms + limits::kForecastAheadMs;
  bool whole = true;
  advance(now_);
  while (somebody_may_start() && (!goal || waiting_.contains(goal))) {
    const std::optional<TimeMs> next = next_time();
    if (!next) break;
    whole = *next <= until && starts_.size() < limits::kForecastStarts && (!go_on || go_on());
    if (!whole) break;
    advance(*next);
  }
  return {basis_.seq, basis_.time_ms,     std::min(now_, until),
          whole,      std::move(starts_), std::move(places_)};
}

}  // namespace decide
}  // namespace subak

// The forecast is the engine: from random states on, with run times that are known and nobody new, each
// job starts when its forecast says. Played by hand through the engine's own door: on a copy, and on the
// engine itself, which remembers what it looked at and must not decide by it.
// SUBAK_FORECAST_STATES sets how many states (1000), SUBAK_FORECAST_SEED the first seed.
#include "engine/forecast/forecast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "random_states.h"
#include "sim/read/rng.h"
#include "tests/oracle/random_world.h"

namespace subak::sim {
namespace {

// Plays a cluster to the end, by the engine's inputs: whoever starts is bound and runs at once.
class Player {
 public:
  Player(Engine& engine, const ForecastBasis& basis)
      : engine_(engine), run_times_(basis.run_times), now_(basis.time_ms) {
    for (const Fact& fact : basis.facts) {
      const auto* const kept = std::get_if<fact::JobSnapshot>(&fact.body);
      if (kept != nullptr) owners_[kept->job.id] = kept->job.owner;
    }
  }

  // The starts of those that wait now.
  std::map<JobId, TimeMs> play() {
    for (const JobRow& row : engine_.jobs(JobId(), limits::kMaxQueuedJobs, std::nullopt, "")) {
      if (is_waiting(row.state)) waiting_.insert(row.id);
      if (holds(row)) begun_.push_back(row.id);
    }
    begin();
    advance(now_);
    const TimeMs until = now_ + limits::kForecastAheadMs;
    while (!stuck_) {
      std::optional<TimeMs> next = engine_.next_deadline();
      if (!ends_.empty()) next = std::min(next.value_or(state_end()), state_end());
      if (!next || *next > until) break;
      advance(*next);
    }
    return starts_;
  }

  // A pod that was made late could not take its place, as its namespace is not managed any more: what
  // comes then is not what a forecast takes for granted.
  bool is_stuck() const { return stuck_; }

 private:
  using End = std::tuple<TimeMs, JobId, std::uint32_t>;
  TimeMs state_end() const { return std::get<0>(ends_.top()); }

  static bool holds(const JobRow& row) {
    return !is_waiting(row.state) && row.state != JobState::kDone;
  }

  void send(in::Body body) {
    const ApplyOutcome outcome = engine_.apply({now_, "", "", std::move(body)});
    EXPECT_FALSE(outcome.reply.error) << outcome.reply.error->message();
    for (const Fact& f : outcome.facts) {
      if (const auto* s = std::get_if<fact::AttemptStarted>(&f.body)) begun_.push_back(s->id);
      if (const auto* s = std::get_if<fact::StopAsked>(&f.body)) stopped_.push_back(s->id);
    }
  }

  static PodRef ref(const JobRow& row, const PodRow& pod) {
    if (row.origin != JobOrigin::kApi)
      return {pod.uid.empty() ? late_uid(row, pod) : pod.uid, {}, 0};
    return {"", row.id, pod.rank};
  }
  static std::string late_uid(const JobRow& row, const PodRow& pod) {
    return "late-" + text::job_id_text(row.id) + "-" + std::to_string(pod.rank);
  }

  // A pod that is made when others run takes the place that is kept for it.
  void come(const JobRow& row, const PodRow& pod) {
    if (row.origin == JobOrigin::kApi || !pod.uid.empty()) return;
    in::PodSeen seen;
    seen.cluster = row.cluster;
    const std::size_t slash = row.name.find('/');
    seen.pod.uid = late_uid(row, pod);
    seen.pod.name = seen.pod.uid;
    seen.pod.ns = row.name.substr(0, slash);
    seen.pod.gang = row.name.substr(slash + 1);
    seen.pod.owner = owners_[row.id];
    seen.pod.account = row.account;
    seen.pod.gang_size = row.gang_size;
    seen.pod.terms = row.request.terms;
    seen.pod.rank = static_cast<std::int32_t>(pod.rank);
    std::uint32_t rank = pod.rank;
    for (const PodGroup& group : row.request.groups) {
      if (rank < group.count) seen.pod.shape = group.shape;
      if (rank < group.count) break;
      rank -= group.count;
    }
    seen.pod.gated = true;
    send(seen);
    stuck_ = stuck_ || engine_.job(row.id, true)->pods[pod.rank].uid != seen.pod.uid;
  }

  void advance(TimeMs t) {
    now_ = std::max(now_, t);
    while (!ends_.empty() && state_end() <= now_) {
      const auto [at, id, attempt] = ends_.top();
      ends_.pop();
      const auto row = engine_.job(id, false);
      if (row && row->attempt == attempt) end(id);
    }
    while (engine_.next_deadline().value_or(now_ + 1) <= now_) send(in::Tick{});
    while (std::exchange(first_, false) || engine_.pass_due()) {
      send(in::Pass{});
      for (const JobId id : std::exchange(stopped_, {})) end(id);
      begin();
    }
  }

  void begin() {
    for (const JobId id : std::exchange(begun_, {})) {
      const JobRow row = *engine_.job(id, true);
      if (!holds(row)) continue;
      for (const PodRow& pod : row.pods) {
        if (pod.state != PodState::kHeld) continue;
        come(row, pod);
        if (stuck_) return;
        in::PodBound bound;
        bound.cluster = row.cluster;
        bound.pod = ref(row, pod);
        bound.node = engine_.fleet().node(pod.slot.node)->name;
        send(bound);
      }
      const JobRow after = *engine_.job(id, true);
      for (const PodRow& pod : after.pods) {
        if (pod.state != PodState::kBound) continue;
        in::PodRunning running;
        running.cluster = row.cluster;
        running.pod = ref(row, pod);
        send(running);
      }
      ends_.emplace(std::max(now_, row.started_ms + run_times_.at(id).ms), id, row.attempt);
      if (waiting_.erase(id) > 0) starts_[id] = now_;
    }
  }

  void end(JobId id) {
    const JobRow row = *engine_.job(id, true);
    for (const PodRow& pod : row.pods) {
      const bool there = pod.state == PodState::kHeld || pod.state == PodState::kBound ||
                         pod.state == PodState::kRunning;
      if (!there) continue;
      in::PodGone gone;
      gone.cluster = row.cluster;
      gone.pod = ref(row, pod);
      gone.cause = Cause::kFinished;
      send(gone);
    }
  }

  Engine& engine_;
  const RunTimes& run_times_;
  std::map<JobId, std::string> owners_;  // of gangs
  TimeMs now_;
  bool first_ = true;  // there is a pass at the beginning, due or not
  bool stuck_ = false;
  std::set<JobId> waiting_;
  std::vector<JobId> begun_, stopped_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::map<JobId, TimeMs> starts_;
};

std::map<JobId, TimeMs> starts_of(const Forecast& forecast) {
  std::map<JobId, TimeMs> out;
  for (const Forecast::Start& s : forecast.starts()) out[s.job] = s.at_ms;
  return out;
}

struct Counts {
  std::size_t states = 0, starts = 0, later = 0, stuck = 0;
};

// From here on the engine is played to its end.
void judge(Engine& engine, Rng& rng, Counts& counts) {
  ForecastBasis basis = engine.forecast_basis(engine.now());
  for (auto& [id, run] : basis.run_times) {
    const JobRow row = *engine.job(id, false);
    const TimeMs past = row.started_ms == 0 ? 0 : engine.now() - row.started_ms;
    run.ms = past + rng.between(1, 12 * kHourMs);
  }
  const Forecast forecast = make_forecast(basis);
  EXPECT_EQ(forecast.seq(), engine.seq());
  EXPECT_EQ(forecast.time_ms(), engine.now());
  const auto told = starts_of(forecast);
  const auto copy = copy_of(engine);
  Player naive(*copy, basis);
  const auto exact = naive.play();
  if (naive.is_stuck()) {
    ++counts.stuck;
    return;
  }
  EXPECT_EQ(told, exact);
  const auto real = Player(engine, basis).play();
  EXPECT_EQ(told, real);
  for (const auto& [id, at] : real) counts.later += at > basis.time_ms;
  counts.starts += real.size();
  ++counts.states;
}

TEST(Forecast, OfRandomWorldsIsWhatHappens) {
  const std::uint64_t first = setting("SUBAK_FORECAST_SEED", 1);
  const std::uint64_t states = setting("SUBAK_FORECAST_STATES", 1000);
  Counts counts;
  for (std::uint64_t seed = first; seed < first + states; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    // The player creates no pods of owners that wait suspended.
    RandomWorld world({.seed = seed, .beside = seed % 5 == 0, .parking = false});
    Engine engine;
    Rng rng(seed);
    const std::uint64_t inputs = 150 + rng.below(400);
    for (std::uint64_t i = 0; i < inputs || !world.quiet(); ++i) {
      const Input input = world.next(engine.next_deadline());
      world.saw(input, engine.apply(input));
    }
    judge(engine, rng, counts);
    if (HasFailure()) break;
  }
  std::printf("%zu states, %zu starts, %zu of them later; %zu states left out\n", counts.states,
              counts.starts, counts.later, counts.stuck);
  EXPECT_GT(counts.later, 3 * counts.states);
  EXPECT_LT(counts.stuck, counts.states / 100);
}

// Nodes are kept until a job of ten hours ends. Whoever says a minute could use them meanwhile, were there not
// another like him, ended by now, that took longer than he said.
TEST(Forecast, KnowsWhoseLimitsAreNotCountedOn) {
  Engine engine;
  TimeMs now = 1'767'225'600'000;
  const auto at = [&](in::Body body) { return engine.apply({now, "", "ana", std::move(body)}); };
  const auto submit = [&](const char* name, std::uint32_t pods, std::int64_t gpus,
                          DurationMs limit_ms) {
    in::SubmitJob job;
    job.cluster = "main";
    job.account = "ml";
    job.name = name;
    job.time_limit_ms = limit_ms;
    job.request.groups.emplace_back();
    job.request.groups[0].count = pods;
    job.request.groups[0].shape.kind = GpuKind::kWhole;
    job.request.groups[0].shape.gpus = gpus;
    return at(job).reply.job;
  };
  in::SetCluster cluster;
  cluster.name = "main";
  cluster.mode = Mode::kEnforce;
  at(cluster);
  in::ImportNodes import;
  import.cluster = "main";
  for (const char* name : {"n0", "n1"}) {
    NodeSpec& node = import.nodes.emplace_back();
    node.name = name;
    node.product = "H100";
    node.gpus = 8;
  }
  at(import);
  in::SetPolicy set;
  set.policy.patience_ms = kHourMs;
  set.policy.hold_ms = 30 * kDayMs;
  at(set);
  in::SetAccount account;
  account.spec.path = "ml";
  at(account);

  const JobId late = submit("prep-1", 1, 4, kMinuteMs);
  submit("eval", 1, 8, 10 * kHourMs);
  at(in::Pass{});
  now += 2 * kMinuteMs;
  at(in::Tick{});
  in::PodGone gone;
  gone.cluster = "main";
  gone.pod.job = late;
  gone.cause = Cause::kFinished;
  at(gone);
  const JobId gang = submit("gang", 2, 8, 0);
  at(in::Pass{});
  now += kHourMs;
  at(in::Pass{});
  ASSERT_TRUE(engine.job(gang, false)->start_promised);
  const JobId like_it = submit("prep-2", 1, 4, kMinuteMs);
  const JobId other = submit("tidy-2", 1, 4, kMinuteMs);
  const Forecast forecast = make_forecast(engine.forecast_basis(now));
  at(in::Pass{});
  EXPECT_EQ(forecast.start(other), now);
  EXPECT_EQ(engine.job(other, false)->state, JobState::kStarting);
  ASSERT_TRUE(forecast.start(gang) && forecast.start(like_it));
  EXPECT_GT(*forecast.start(like_it), *forecast.start(gang));
  EXPECT_EQ(engine.job(like_it, false)->state, JobState::kQueued);
}

}  // namespace
}  // namespace subak::sim

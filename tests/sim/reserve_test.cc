// Small busy fleets whose jobs mostly say how long they run, with gangs, overruns, nodes that go or
// drain, at once or as planned, accounts that are held and policies that change: the oracle judges every reservation by the
// ends that it keeps itself (tests/oracle/oracle_reserve.cc). SUBAK_RESERVE_STEPS sets how many steps in all
// (default 40,000), SUBAK_RESERVE_SEED the first seed. In every fourth nothing unforeseen happens, drains
// are planned from the beginning, and no promise may move later at all, however many small jobs come.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "core/limits.h"
#include "random_states.h"
#include "sim/read/rng.h"
#include "tests/oracle/oracle.h"

namespace subak::sim {
namespace {

constexpr std::uint64_t kWorlds = 20;
const std::uint64_t kSteps = setting("SUBAK_RESERVE_STEPS", 40'000) / kWorlds;
constexpr TimeMs kStart = 1'767'225'600'000;
constexpr int kNodes = 5;
constexpr std::size_t kMostWaiting = 14;
constexpr const char* kAccounts[] = {"ml", "bio", "chem"};

struct Counts {
  std::size_t reservations = 0, fills = 0, starts = 0;
};

class Fleet {
 public:
  // `calm`: every job has a limit and keeps to it, and nobody edits anything.
  // In every second world nodes are in cliques, of which some jobs want a ComputeDomain; in every fourth one is
  // left to gangs.
  explicit Fleet(std::uint64_t seed, bool calm)
      : calm_(calm), cliques_(seed / 2 % 2 == 1), keep_whole_(seed / 2 % 4 == 1), rng_(seed) {
    in::SetCluster cluster;
    cluster.name = "main";
    cluster.mode = Mode::kEnforce;
    send(cluster);
    nodes();
    policy();
    for (const char* path : kAccounts) account(path, false);
    for (int i = 0; calm && i < kNodes; ++i) {  // known from the beginning
      const TimeMs from_ms = kStart + (20 + 30 * i) * kHourMs;
      drain(i, true, from_ms, from_ms + rng_.between(1, 40) * kHourMs);
    }
  }

  void step() {
    const TimeMs next = now_ + rng_.between(0, 12) * kMinuteMs;
    if (calm_) end_due(next);
    now_ = next;
    const int what = static_cast<int>(rng_.below(calm_ ? 91 : 100));
    if (what < 48 && waiting() < kMostWaiting) {
      submit();
    } else if (what < 91) {
      end_one();
    } else if (what < 94) {
      drain();
    } else if (what < 96) {
      account(kAccounts[rng_.below(3)], rng_.percent(12));
    } else if (what < 97) {
      policy();
    } else if (what < 98) {
      there_[rng_.below(kNodes)] = rng_.percent(80);
      nodes();
    } else if (!jobs_.empty()) {
      in::CancelJob cancel;
      cancel.job = some_job();
      cancel.reason = "random";
      send(cancel);
    }
    settle();
  }

  const std::vector<std::string>& mistakes() const { return oracle_.mistakes(); }
  Counts counts() const { return {oracle_.reservations(), oracle_.fills(), starts_}; }
  void check() {
    engine_.check_invariants();
    oracle_.compare(engine_);
  }
  std::size_t late() const { return late_; }  // 0: no promise ever moved later
  const std::string& last() const { return last_; }

 private:
  // Ticks that are due, and passes until none is.
  void settle() {
    while (const auto due = engine_.next_deadline()) {
      if (*due > now_) break;
      send(in::Tick{});
    }
    while (engine_.pass_due()) send(in::Pass{});
  }

  void send(in::Body body) {
    Input input;
    input.time_ms = now_;
    input.actor = "random";
    input.body = std::move(body);
    last_ = input_to_text(input);
    const ApplyOutcome outcome = engine_.apply(input);
    oracle_.saw(input, outcome);
    for (const Fact& f : outcome.facts) {
      if (const auto* made = std::get_if<fact::JobCreated>(&f.body)) {
        jobs_[made->id] = {0, made->time_limit_ms, 0};
      }
      if (const auto* start = std::get_if<fact::AttemptStarted>(&f.body)) {
        Job& job = jobs_[start->id];
        job.pods = static_cast<std::uint32_t>(start->slots.size());
        job.end = now_ + job.limit;
        ++starts_;
      }
      if (const auto* r = std::get_if<fact::Reserved>(&f.body)) late_ += r->late;
      if (const auto* moved = std::get_if<fact::JobMoved>(&f.body)) {
        if (moved->to == JobState::kDone) jobs_.erase(moved->id);
      }
      if (const auto* end = std::get_if<fact::AttemptEnded>(&f.body)) {
        jobs_[end->id].pods = 0;
        if (end->to == JobState::kDone) jobs_.erase(end->id);
      }
    }
  }

  void nodes() {
    in::ImportNodes import;
    import.cluster = "main";
    for (int i = 0; i < kNodes; ++i) {
      if (!there_[static_cast<std::size_t>(i)]) continue;
      NodeSpec spec;
      spec.name = "n" + std::to_string(i);
      spec.product = "H100";
      spec.gpus = 8;
      if (cliques_) spec.clique = i < 3 ? "c" : "d";
      import.nodes.push_back(spec);
    }
    send(import);
  }

  void policy() {
    in::SetPolicy set;
    set.policy.patience_ms = rng_.between(calm_ ? 1 : 0, 3) * 10 * kMinuteMs;
    set.policy.queue.reserve_jobs = static_cast<std::uint32_t>(rng_.between(calm_ ? 1 : 0, 4));
    set.policy.enforce_time_limits = !calm_ && rng_.percent(30);
    set.policy.default_time_limit_ms = rng_.percent(30) ? 0 : 2 * kHourMs;
    set.policy.hold_ms = 30 * kDayMs;
    set.policy.gangs.keep_whole = keep_whole_ ? 1 : 0;
    send(set);
  }

  void account(const char* path, bool held) {
    in::SetAccount set;
    set.spec.path = path;
    set.spec.shares = rng_.between(1, 4);
    set.spec.held = held;
    if (!calm_ && rng_.percent(20))
      set.spec.limit = {{kAnyProduct, rng_.between(8, 24) * kMilliPerGpu}};
    if (!calm_ && rng_.percent(15))
      set.spec.quota = {{kAnyProduct, rng_.between(1, 8) * kMilliPerGpu}};
    set.reason = "random";
    send(set);
  }

  void submit() {
    in::SubmitJob job;
    job.cluster = "main";
    job.account = kAccounts[rng_.below(3)];
    PodGroup group;
    const bool gang = rng_.percent(35);
    group.count = gang ? static_cast<std::uint32_t>(rng_.between(2, kNodes - 1)) : 1;
    group.shape.kind = GpuKind::kWhole;
    group.shape.gpus = gang && rng_.percent(70) ? 8 : rng_.between(1, 8);
    job.request.groups.push_back(group);
    job.request.terms.compute_domain = cliques_ && ++submitted_ % 3 == 0;
    if (calm_ || !rng_.percent(8))
      job.time_limit_ms = rng_.between(1, gang ? 30 : 16) * 10 * kMinuteMs;
    send(job);
  }

  // Of jobs that run; those that are left alone run beyond their limits.
  void end_one() {
    std::vector<JobId> running;
    for (const auto& [id, job] : jobs_) {
      if (job.pods > 0) running.push_back(id);
    }
    if (!running.empty()) end(running[rng_.below(running.size())]);
  }

  // Whose limits are over by then, at their times.
  void end_due(TimeMs by) {
    const auto sooner = [](const auto& a, const auto& b) {
      return a.second.due() < b.second.due();
    };
    while (true) {
      const auto first = std::min_element(jobs_.begin(), jobs_.end(), sooner);
      const TimeMs due = first == jobs_.end() ? limits::kMaxTimeMs : first->second.due();
      if (due > by) return;
      now_ = due;
      std::vector<JobId> over;
      for (const auto& [id, job] : jobs_) {
        if (job.due() == due) over.push_back(id);
      }
      for (const JobId id : over) end(id);
      settle();
    }
  }

  void end(JobId id) {
    const std::uint32_t pods = jobs_[id].pods;
    for (std::uint32_t rank = 0; rank < pods; ++rank) {
      in::PodGone gone;
      gone.cluster = "main";
      gone.pod.job = id;
      gone.pod.rank = rank;
      gone.cause = Cause::kFinished;
      send(gone);
    }
  }

  void drain() {
    const bool planned = rng_.percent(50);
    const TimeMs from_ms = planned ? now_ + rng_.between(0, 600) * kMinuteMs : 0;
    const bool ends = planned && rng_.percent(80);
    const TimeMs until_ms = ends ? from_ms + rng_.between(1, 300) * kMinuteMs : 0;
    drain(static_cast<int>(rng_.below(kNodes)), planned || rng_.percent(25), from_ms, until_ms);
  }
  void drain(int node, bool drained, TimeMs from_ms, TimeMs until_ms) {
    send(in::DrainNode{"main", "n" + std::to_string(node), drained, "random", from_ms, until_ms});
  }

  std::size_t waiting() const {
    std::size_t n = 0;
    for (const auto& [id, job] : jobs_) n += job.pods == 0 ? 1 : 0;
    return n;
  }
  JobId some_job() {
    auto it = jobs_.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(rng_.below(jobs_.size())));
    return it->first;
  }

  struct Job {
    std::uint32_t pods = 0;  // that hold something
    DurationMs limit = 0;
    TimeMs end = 0;  // of its limit
    TimeMs due() const { return pods > 0 ? end : limits::kMaxTimeMs; }
  };

  bool calm_, cliques_, keep_whole_;
  int submitted_ = 0;
  Rng rng_;
  TimeMs now_ = kStart;
  Engine engine_;
  Oracle oracle_{Oracle::Options{}};
  std::map<JobId, Job> jobs_;
  std::vector<bool> there_ = std::vector<bool>(kNodes, true);
  std::size_t starts_ = 0, late_ = 0;
  std::string last_;
};

class Reserve : public testing::TestWithParam<std::uint64_t> {
 protected:
  static inline Counts all;
  // What is judged has to happen.
  static void TearDownTestSuite() {
    EXPECT_GT(all.reservations, kSteps * kWorlds / 50);
    EXPECT_GT(all.fills, kSteps * kWorlds / 400);
    std::printf("%zu starts, %zu reservations made or moved, %zu starts on nodes kept for others\n",
                all.starts, all.reservations, all.fills);
  }
};

TEST_P(Reserve, PromisesAreKept) {
  const std::uint64_t seed = setting("SUBAK_RESERVE_SEED", 1) + GetParam();
  const bool calm = seed % 4 == 0;
  Fleet fleet(seed, calm);
  for (std::uint64_t i = 0; i < kSteps; ++i) {
    fleet.step();
    if (i % 101 == 0) fleet.check();
    ASSERT_TRUE(fleet.mistakes().empty())
        << "seed " << seed << ", step " << i << ": " << fleet.last() << "\n"
        << fleet.mistakes().front();
  }
  if (calm) {
    EXPECT_EQ(fleet.late(), 0u) << "a promise moved later, and nothing happened";
  }
  const Counts counts = fleet.counts();
  all.reservations += counts.reservations;
  all.fills += counts.fills;
  all.starts += counts.starts;
}

INSTANTIATE_TEST_SUITE_P(Seeds, Reserve, testing::Range<std::uint64_t>(0, kWorlds));

}  // namespace
}  // namespace subak::sim

// Calm: between two outside events no job is preempted twice.
//   states  all states of three accounts on two levels, four GPUs, and up to five jobs of one or two
//           GPUs that run or wait. SUBAK_CALM_STRIDE: only each n-th (default 1009; 1: all).
//   worlds  larger random worlds. SUBAK_CALM_WORLDS sets how many (default 500).
// SUBAK_CLAIM_SEED sets the first state and the first seed.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <vector>

#include "core/text.h"
#include "tests/engine/claims/driver.h"
#include "tests/engine/claims/random_world.h"

namespace subak::claim_model {
namespace {

constexpr int kMostSteps = 200;

// Counts preemptions since the last outside event.
template <class World>
class Calm : public World {
 public:
  using World::World;

  // Steps until no job ends and no claim waits.
  void calm_down() {
    preempted_.clear();
    int steps = 0;
    do {
      ASSERT_LT(++steps, kMostSteps) << "there is no end" << text_of(this->engine(), this->books());
      this->wait(kStep);
      ASSERT_TRUE(this->settle()) << "passes have no end";
    } while (this->is_busy());
  }
  std::size_t preemptions() const { return preemptions_; }

 private:
  void preempted(JobId job) override {
    ++preemptions_;
    EXPECT_EQ(++preempted_[job], 1)
        << text::job_id_text(job) << " again" << text_of(this->engine(), this->books());
  }

  std::size_t preemptions_ = 0;
  std::map<JobId, int> preempted_;
};

// --- all states of a small world -----------------------------------------------------------------

struct KindOfJob {
  std::size_t account = 0;
  std::int64_t gpus = 1;
  bool runs = false;
};

constexpr std::size_t kKinds = 12, kMostJobs = 5;
constexpr std::array<std::array<const char*, 3>, 3> kTrees{
    {{"a", "b", "c"}, {"a", "a.b", "c"}, {"a", "a.b", "a.c"}}};
constexpr std::int64_t kQuotas = 5, kAllGpus = 4;

KindOfJob kind_of(std::size_t number) {
  return {number % 3, 1 + static_cast<std::int64_t>(number / 3 % 2), number / 6 == 1};
}

// All lists of jobs, by kind, of which no more run than there are GPUs.
void add_lists(std::vector<std::size_t>& list, std::int64_t running,
               std::vector<std::vector<std::size_t>>& out) {
  out.push_back(list);
  if (list.size() == kMostJobs) return;
  for (std::size_t kind = list.empty() ? 0 : list.back(); kind < kKinds; ++kind) {
    const KindOfJob job = kind_of(kind);
    const std::int64_t then = running + (job.runs ? job.gpus : 0);
    if (then > kAllGpus) continue;
    list.push_back(kind);
    add_lists(list, then, out);
    list.pop_back();
  }
}

struct State {
  std::array<const char*, 3> tree;
  std::array<std::int64_t, 3> quotas;
  bool two_nodes = false;
  std::vector<KindOfJob> jobs;
};

// The numbers of all states.
class States {
 public:
  States() {
    std::vector<std::size_t> list;
    add_lists(list, 0, lists_);
  }
  std::uint64_t size() const { return lists_.size() * kTrees.size() * 4 * 125; }
  State at(std::uint64_t number) const {
    const auto next = [&](std::uint64_t n) { return std::exchange(number, number / n) % n; };
    State state;
    state.tree = kTrees.at(next(kTrees.size()));
    state.two_nodes = next(2) == 1;
    const bool backwards = next(2) == 1;
    for (std::int64_t& quota : state.quotas) quota = static_cast<std::int64_t>(next(kQuotas));
    for (const std::size_t kind : lists_.at(next(lists_.size()))) {
      state.jobs.push_back(kind_of(kind));
    }
    if (backwards) std::reverse(state.jobs.begin(), state.jobs.end());
    return state;
  }

 private:
  std::vector<std::vector<std::size_t>> lists_;
};

class SmallWorld : public Calm<Driver> {
 public:
  explicit SmallWorld(std::uint64_t seed) : Calm(seed) {}

  // False: the engine refuses the quotas.
  bool enter(const State& state) {
    Policy policy;
    policy.patience_ms = 0;
    policy.reclaim_min_run_ms = 0;
    begin(policy);
    std::vector<NodeSpec> nodes;
    for (int i = 0; i < (state.two_nodes ? 2 : 1); ++i) {
      nodes.emplace_back();
      nodes.back().name = "n" + std::to_string(i);
      nodes.back().product = "H100";
      nodes.back().gpus = state.two_nodes ? kAllGpus / 2 : kAllGpus;
    }
    set_nodes(nodes);
    set_accounts(state, false);
    submit_all(state, true);
    if (!set_accounts(state, true)) return false;
    submit_all(state, false);
    return true;
  }

 private:
  bool set_accounts(const State& state, bool with_quota) {
    for (std::size_t i = 0; i < state.tree.size(); ++i) {
      AccountSpec spec;
      spec.path = state.tree.at(i);
      if (with_quota && state.quotas.at(i) > 0)
        spec.quota = {{kAnyProduct, state.quotas.at(i) * kMilliPerGpu}};
      if (!set_account(spec)) return false;
    }
    return true;
  }
  void submit_all(const State& state, bool running) {
    for (const KindOfJob& job : state.jobs) {
      if (job.runs != running) continue;
      Wanted wanted;
      wanted.account = state.tree.at(job.account);
      wanted.groups = {{1, job.gpus}};
      wanted.grace_ms = kSecondMs;
      submit(wanted);
      if (running) {
        EXPECT_TRUE(settle());
      }
    }
  }
};

TEST(CalmStates, NobodyIsPreemptedTwice) {
  const States states;
  const std::uint64_t stride = setting("SUBAK_CALM_STRIDE", 1009);
  std::size_t entered = 0, with_claims = 0;
  for (std::uint64_t n = setting("SUBAK_CLAIM_SEED", 1) % stride; n < states.size(); n += stride) {
    SCOPED_TRACE("state " + std::to_string(n));
    SmallWorld world(n);
    if (!world.enter(states.at(n))) continue;
    ++entered;
    world.calm_down();
    if (HasFailure()) return;
    with_claims += world.preemptions() > 0 ? 1 : 0;
  }
  std::printf("%zu states of %llu, %zu with preemptions\n", entered,
              static_cast<unsigned long long>(states.size()), with_claims);
  EXPECT_GT(with_claims, entered / 50);
}

// --- random worlds -------------------------------------------------------------------------------

class LargerWorld : public Calm<RandomWorld> {
 public:
  explicit LargerWorld(std::uint64_t seed)
      : Calm(seed, Size{.least_nodes = 4, .most_nodes = 8, .most_gpus = 8, .most_waiting = 20}) {
    for (int i = 0; i < 25; ++i) arrive();
    calm_down();
  }
  void event() {
    outside_event();
    calm_down();
  }
};

TEST(CalmWorlds, NobodyIsPreemptedTwiceBetweenTwoEvents) {
  constexpr int kEvents = 30;
  const std::uint64_t worlds = setting("SUBAK_CALM_WORLDS", 500);
  const std::uint64_t first = setting("SUBAK_CLAIM_SEED", 1);
  std::size_t preemptions = 0;
  for (std::uint64_t seed = first; seed < first + worlds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    LargerWorld world(seed);
    for (int i = 0; i < kEvents; ++i) {
      SCOPED_TRACE("event " + std::to_string(i));
      world.event();
      if (HasFailure()) return;
    }
    preemptions += world.preemptions();
  }
  std::printf("%zu preemptions in %llu worlds, none of a job again\n", preemptions,
              static_cast<unsigned long long>(worlds));
  EXPECT_GT(preemptions, worlds / 2);
}

}  // namespace
}  // namespace subak::claim_model

// Random worlds against the naive oracle. SUBAK_WORLD_INPUTS sets how many inputs in all (default
// 100,000), SUBAK_WORLD_SEED the first seed. More inputs make more worlds: the oracle's time grows
// with the square of a world's length. SUBAK_WORLD_TRACE=1 prints inputs and facts.
#include "tests/oracle/oracle.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <utility>

#include "random_states.h"
#include "tests/oracle/random_world.h"

namespace subak::sim {
namespace {

constexpr std::uint64_t kLeastWorlds = 20;
constexpr std::uint64_t kMostInputs = 20'000;  // of one world
constexpr std::uint64_t kCheckEvery = 97;      // invariants of the engine
constexpr std::uint64_t kCompareEvery = 499;   // all sums of the oracle

const std::uint64_t kInputs = setting("SUBAK_WORLD_INPUTS", 100'000);
const bool kTrace = setting("SUBAK_WORLD_TRACE", 0) != 0;
const std::uint64_t kWorlds = std::max(kLeastWorlds, kInputs / kMostInputs);

std::string join(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  return all;
}

// A loop in the engine that makes facts for ever must fail this test,
// not take the machine's memory.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
const bool kBounded = [] {
  const rlimit most{rlim_t{4} << 30, rlim_t{4} << 30};
  return setrlimit(RLIMIT_AS, &most) == 0;
}();
#endif

void trace(const Input& input, const ApplyOutcome& outcome) {
  std::printf("> %s\n", input_to_text(input).c_str());
  for (const Fact& fact : outcome.facts) std::printf("%s\n", fact_to_text(fact).c_str());
}

// Makes every third edit of shares retroactive.
Input some_retroactive(Input input, const Engine& engine, std::uint64_t i) {
  if (auto* const set = std::get_if<in::SetAccount>(&input.body)) {
    const bool exists = static_cast<bool>(engine.accounts().find(set->spec.path));
    set->retroactive = exists && !set->unchanged.shares && i % 3 == 0;
  } else if (auto* const apply = std::get_if<in::ApplyAccounts>(&input.body)) {
    apply->retroactive = i % 3 == 0;
  }
  return input;
}

void judge_world(std::uint64_t seed, bool beside) {
  const std::uint64_t inputs = kInputs / kWorlds;
  const bool plain = seed % 2 == 0;
  // Worlds with and without budgets.
  const bool half_lives = seed % 4 == 2 || seed % 8 == 5;
  RandomWorld world({seed, plain, beside, half_lives});
  Oracle oracle({plain, plain});
  Engine engine;
  std::size_t facts = 0;
  for (std::uint64_t i = 0; i < inputs; ++i) {
    const Input input = some_retroactive(world.next(engine.next_deadline()), engine, i);
    const ApplyOutcome outcome = engine.apply(input);
    facts += outcome.facts.size();
    if (kTrace) trace(input, outcome);
    world.saw(input, outcome);
    oracle.saw(input, outcome);
    if (i % kCheckEvery == 0) engine.check_invariants();
    if (i % kCompareEvery == 0) oracle.compare(engine);
    ASSERT_TRUE(oracle.mistakes().empty())
        << "seed " << seed << ", input " << i << ": " << input_to_text(input) << "\n"
        << join(oracle.mistakes());
  }
  oracle.compare(engine);
  EXPECT_TRUE(oracle.mistakes().empty()) << join(oracle.mistakes());
  EXPECT_GT(facts, inputs / 4) << "the world hardly does anything";
  if (plain) {
    EXPECT_GT(oracle.starts_judged(), 0u);
  }
}

class World : public testing::TestWithParam<std::uint64_t> {};

TEST_P(World, AgreesWithTheOracle) {
  judge_world(setting("SUBAK_WORLD_SEED", 1) + GetParam(), false);
}

// Half of them once more, with launchers without GPUs, and CPU that is kept beside free GPUs.
TEST_P(World, AgreesWithTheOracleOnWhatIsKeptBesideGpus) {
  if (GetParam() % 4 < 2) judge_world(setting("SUBAK_WORLD_SEED", 1) + GetParam(), true);
}

INSTANTIATE_TEST_SUITE_P(Seeds, World, testing::Range<std::uint64_t>(0, kWorlds));

// The worlds have what the oracle judges.
TEST(Oracle, SeesStartsBesideCliquesThatAreLeftToGangs) {
  std::size_t starts = 0;
  for (const std::uint64_t seed : {1, 3, 5, 7}) {
    RandomWorld world({seed, false});
    Oracle oracle({false, false});
    Engine engine;
    for (int i = 0; i < 3000; ++i) {
      const Input input = world.next(engine.next_deadline());
      const ApplyOutcome outcome = engine.apply(input);
      world.saw(input, outcome);
      oracle.saw(input, outcome);
    }
    starts += oracle.beside_whole();
  }
  EXPECT_GT(starts, 100u);
}

// Moves in worlds with budgets, their undos, and changes of the half-life.
TEST(Oracle, SeesMovesAndChangesOfTheHalfLife) {
  int moves = 0, undos = 0, meanwhile = 0, begun = 0, ended = 0;
  for (const std::uint64_t seed : {5, 6, 13, 21, 22, 37, 53, 69}) {
    RandomWorld world({seed, seed % 2 == 0, false, true});
    Engine engine;
    bool changes = false;
    for (int i = 0; i < 5000; ++i) {
      const Input input = world.next(engine.next_deadline());
      const ApplyOutcome outcome = engine.apply(input);
      world.saw(input, outcome);
      for (const Fact& fact : outcome.facts) {
        if (const auto* const moved = std::get_if<fact::AccountMoved>(&fact.body)) {
          moves += moved->from ? 1 : 0;
          undos += moved->from && moved->edit.reason == "undo" ? 1 : 0;
          meanwhile += moved->from && changes ? 1 : 0;
        } else if (const auto* const set = std::get_if<fact::PolicySet>(&fact.body)) {
          changes = set->policy.fair_share.change.seq != 0;
          begun += set->policy.fair_share.change.seq == fact.seq ? 1 : 0;
          ended += std::holds_alternative<in::HalfLifeRead>(input.body) ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(moves, 60);
  EXPECT_GT(undos, 20);
  EXPECT_GT(meanwhile, 5);
  EXPECT_GT(begun, 10);
  EXPECT_GT(ended, 10);
}

// Parked owners that are resumed at their turn and before it, that come back, and whose pods differ
// from their template.
TEST(Oracle, SeesParkedOwners) {
  std::size_t parked = 0, at_turn = 0, before = 0, again = 0, filled = 0, misfits = 0;
  for (const std::uint64_t seed : {2, 3, 6, 7, 13, 14}) {
    RandomWorld world({seed, seed % 2 == 0});
    Engine engine;
    std::map<JobId, Parking> jobs;
    for (int i = 0; i < 5000; ++i) {
      const Input input = world.next(engine.next_deadline());
      const ApplyOutcome outcome = engine.apply(input);
      world.saw(input, outcome);
      for (const Fact& fact : outcome.facts) {
        if (const auto* const made = std::get_if<fact::JobCreated>(&fact.body)) {
          if (made->of_pods.parking == Parking::kNone) continue;
          jobs[made->id] = made->of_pods.parking;
          ++parked;
        } else if (const auto* const pod = std::get_if<fact::PodAdded>(&fact.body)) {
          filled += pod->until_ms != 0 && jobs.contains(pod->job) ? 1 : 0;
        } else if (const auto* const moved = std::get_if<fact::JobParked>(&fact.body)) {
          const bool starts = engine.job(moved->id, false)->state == JobState::kStarting;
          const bool news = std::exchange(jobs.at(moved->id), moved->to) != moved->to;
          misfits += moved->until_ms != 0 ? 1 : 0;
          again += news && moved->to == Parking::kParked ? 1 : 0;
          if (!news || moved->to != Parking::kResumed) continue;
          ++(starts ? at_turn : before);
        }
      }
    }
  }
  EXPECT_GT(parked, 150u);
  EXPECT_GT(at_turn, 40u);
  EXPECT_GT(before, 20u);
  EXPECT_GT(again, 20u);
  EXPECT_GT(filled, 60u);
  EXPECT_GT(misfits, 10u);
}

// Inputs as in tests/scenarios, with a cluster, an account and a node of 8 GPUs before them.
std::vector<std::string> mistakes_in(const std::vector<std::string>& lines) {
  const std::vector<std::string> before = {
      "@0 set_cluster name=k8s mode=enforce",
      "@0 set_account spec={path=ml shares=1 namespaces=[a]}",
      "@0 list_begin cluster=k8s",
      "@0 node_seen cluster=k8s node={name=n1 product=H100 gpus=8}",
      "@0 list_complete cluster=k8s",
  };
  Oracle oracle({false, true});
  Engine engine;
  for (const auto* part : {&before, &lines}) {
    for (const std::string& line : *part) {
      const auto input = input_from_text(line);
      EXPECT_TRUE(input.ok()) << line;
      if (!input.ok()) continue;
      const ApplyOutcome outcome = engine.apply(*input);
      EXPECT_FALSE(outcome.reply.error) << line << "\n" << outcome.reply.error->message();
      oracle.saw(*input, outcome);
    }
  }
  oracle.compare(engine);
  return oracle.mistakes();
}

std::string seen(const std::string& uid, const std::string& rest) {
  return "pod_seen cluster=k8s pod={uid=" + uid + " ns=a name=" + uid +
         " gang=g shape={kind=whole gpus=1} gated=true controlled=true replaced_alone=true " +
         rest + "}";
}

TEST(Oracle, KnowsThatAPodApartFromItsGangIsNotNewInADrain) {
  for (const std::string owner : {"", " owner=o"}) {
    const auto mistakes = mistakes_in({
        "@1000 " + seen("u1", "gang_size=2" + owner),
        "@1000 " + seen("u2", "gang_size=2 rank=1" + owner),
        "@1000 pass",
        "@2000 pod_bound cluster=k8s pod={uid=u1} node=n1",
        "@2000 set_account spec={path=ml shares=1 namespaces=[a] draining=true} reason=test",
        "@601000 tick",
    });
    EXPECT_EQ(join(mistakes), "");
  }
}

TEST(Oracle, KnowsThatAPodThatIsGoneIsNoLongerExpected) {
  const auto mistakes = mistakes_in({
      "@1000 " + seen("u1", "gang_size=2 owner=o"),
      "@1000 gang_seen cluster=k8s ns=a gang=g owner=o groups=[{count=2 shape={kind=whole "
      "gpus=1}}] least=1",
      "@1000 pass",
      "@2000 pod_bound cluster=k8s pod={uid=u1} node=n1",
      "@1801000 tick",
      "@1802000 pod_gone cluster=k8s pod={uid=u1} cause=failed",
      "@1803000 " + seen("u2", "gang_size=2 owner=o"),
  });
  EXPECT_EQ(join(mistakes), "");
}

// The oracle must be able to say no: facts that are wrong in one way each.
TEST(Oracle, NoticesWrongFacts) {
  const auto mistakes_with = [](auto spoil) {
    RandomWorld world({2, true});
    Oracle oracle({false, true});
    Engine engine;
    for (int i = 0; i < 3000; ++i) {
      const Input input = world.next(engine.next_deadline());
      ApplyOutcome outcome = engine.apply(input);
      world.saw(input, outcome);
      const bool spoiled = i > 500 && spoil(outcome);
      oracle.saw(input, outcome);
      if (spoiled) oracle.compare(engine);
      // A fact may change nothing that lasts, such as the last one of a job. Then another one must.
      if (!oracle.mistakes().empty()) break;
    }
    return oracle.mistakes().size();
  };
  EXPECT_EQ(mistakes_with([](ApplyOutcome&) { return false; }), 0u);
  EXPECT_GT(mistakes_with([](ApplyOutcome& o) {
              for (Fact& f : o.facts) {
                if (auto* c = std::get_if<fact::Charged>(&f.body)) return c->row.to_ms -= 1, true;
              }
              return false;
            }),
            0u);
  EXPECT_GT(mistakes_with([](ApplyOutcome& o) {
              return std::erase_if(o.facts, [](const Fact& f) {
                       return std::holds_alternative<fact::Charged>(f.body);
                     }) > 0;
            }),
            0u);
  EXPECT_GT(mistakes_with([](ApplyOutcome& o) {
              for (Fact& f : o.facts) {
                auto* r = std::get_if<fact::AttemptStarted>(&f.body);
                if (r && !r->slots.empty()) return r->slots[0].milligpu += 1000, true;
              }
              return false;
            }),
            0u);
  EXPECT_GT(mistakes_with([](ApplyOutcome& o) {
              return std::erase_if(o.facts, [](const Fact& f) {
                       return std::holds_alternative<fact::JobParked>(f.body);
                     }) > 0;
            }),
            0u);
  EXPECT_GT(mistakes_with([](ApplyOutcome& o) {
              return std::erase_if(o.effects, [](const Effect& e) {
                       return e.kind == EffectKind::kOpenGate && !e.owner.empty();
                     }) > 0;
            }),
            0u);
}

}  // namespace
}  // namespace subak::sim

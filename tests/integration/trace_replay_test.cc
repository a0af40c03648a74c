// Days of the Philly trace in a real store: each start and each reservation comes out the same when its pass
// is decided again.
//
// SUBAK_REPLAY_DAYS sets how many days (0.4), from day 21 of the trace, the beginning of its busiest weeks. The
// jobs that ran then are there too. Without the trace: a seeded workload with Philly's mix of sizes.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>

#include "engine/engine.h"
#include "server/past/replay.h"
#include "server/store/sqlite/sqlite_store.h"
#include "sim/driver.h"
#include "tests/integration/philly.h"
#include "tests/server/temp_folder.h"

namespace subak {
namespace {

constexpr double kFromDay = 21;
constexpr std::size_t kFactsOfCommit = 1000;

// An engine whose facts go into a store.
class StorePort final : public sim::Port {
 public:
  explicit StorePort(Store& store) : store_(store) {}
  Reply send(TimeMs t, in::Body body) override { return apply(t, std::move(body)); }
  std::vector<Effect> pass(TimeMs t) override {
    apply(t, in::Pass{});
    return std::exchange(effects_, {});
  }
  void tick(TimeMs t) override { apply(t, in::Tick{}); }
  std::optional<TimeMs> next_deadline() const override { return engine_.next_deadline(); }
  void commit() {
    if (facts_.empty()) return;
    const auto error = store_.commit(facts_);
    ASSERT_FALSE(error) << error->message();
    facts_.clear();
  }
  const Engine& engine() const { return engine_; }

 private:
  Reply apply(TimeMs t, in::Body body) {
    ApplyOutcome outcome = engine_.apply({t, "", "", std::move(body)});
    facts_.insert(facts_.end(), outcome.facts.begin(), outcome.facts.end());
    effects_.insert(effects_.end(), outcome.effects.begin(), outcome.effects.end());
    if (facts_.size() >= kFactsOfCommit) commit();
    return outcome.reply;
  }

  Store& store_;
  Engine engine_;
  std::vector<Fact> facts_;
  std::vector<Effect> effects_;
};

class Nobody final : public sim::Observer {
  void submitted(std::uint32_t, JobId, TimeMs) override {}
  void started(std::uint32_t, TimeMs, const std::vector<EffectPod>&) override {}
  void ended(std::uint32_t, TimeMs) override {}
};

sim::Workload days(double count) {
  const bool is_real = std::filesystem::exists(philly_path());
  std::vector<sim::TraceJob> trace;
  sim::WorkloadOptions options;
  if (is_real) {
    auto read = sim::read_trace(philly_path());
    EXPECT_TRUE(read.ok());
    trace = std::move(*read);
    options.from_day = kFromDay;
    options.to_day = kFromDay + count;
  } else {
    trace = like_philly(static_cast<std::size_t>(1200 * count));
  }
  options.quota_percent = 80;
  auto fleet = sim::read_nodes(is_real ? "80x8" : "8x8");
  EXPECT_TRUE(fleet.ok());
  auto made = sim::make_workload(std::move(trace), std::move(*fleet), options);
  EXPECT_TRUE(made.ok()) << made.error().message();
  return std::move(*made);
}

// How many facts of a store are decisions of each kind.
struct Decisions {
  std::int64_t starts = 0, reservations = 0, claims = 0;
  std::int64_t all() const { return starts + reservations + claims; }
};
Decisions decisions_in(StoreReader& reader) {
  Decisions out;
  std::uint64_t after = 0;
  while (true) {
    const auto facts = reader.facts(after, 10'000);
    EXPECT_TRUE(facts.ok());
    if (!facts.ok() || facts->empty()) return out;
    for (const Fact& fact : *facts) {
      if (!is_decision(fact)) continue;
      out.starts += std::holds_alternative<fact::AttemptStarted>(fact.body);
      out.reservations += std::holds_alternative<fact::Reserved>(fact.body);
      out.claims += std::holds_alternative<fact::Claimed>(fact.body);
    }
    after = facts->back().seq;
  }
}

TEST(TraceReplay, EachDecisionOfTheTraceComesOutTheSame) {
  const char* const text = std::getenv("SUBAK_REPLAY_DAYS");
  const sim::Workload workload = days(text == nullptr ? 0.4 : std::atof(text));
  const TempFolder folder;
  auto store = open_sqlite_store({folder.file("subak.db")});
  ASSERT_TRUE(store.ok());
  StorePort port(**store);
  Nobody nobody;
  Policy policy;
  policy.patience_ms = kHourMs;
  sim::Driver driver(workload, port, nobody);
  ASSERT_FALSE(driver.set_up(policy));
  driver.run();
  port.commit();

  auto reader = (*store)->open_reader();
  ASSERT_TRUE(reader.ok());
  const Decisions made = decisions_in(**reader);
  Replay replay(**reader);
  const auto done = replay.range(1, port.engine().seq());
  ASSERT_TRUE(done.ok()) << done.error().message();
  std::printf(
      "%zu jobs, %llu facts: %lld starts, %lld reservations, %lld claims; %lld came out the same\n",
      workload.jobs.size(), static_cast<unsigned long long>(port.engine().seq()),
      static_cast<long long>(made.starts), static_cast<long long>(made.reservations),
      static_cast<long long>(made.claims), static_cast<long long>(done->same));
  if (done->different) {
    ADD_FAILURE() << fact_to_text(done->different->fact) << "\nstored   " << done->different->stored
                  << "\nreplayed " << done->different->replayed;
  }
  EXPECT_EQ(done->same, made.all());
  EXPECT_EQ(done->no_pass, 0) << "each start of the simulator has a pass";
  EXPECT_GT(made.starts, 100);
}

}  // namespace
}  // namespace subak

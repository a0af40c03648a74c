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

#include "server/past/replay.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/integration/fact_port.h"
#include "tests/integration/philly.h"
#include "tests/server/temp_folder.h"

namespace subak {
namespace {

constexpr std::size_t kFactsOfCommit = 1000;

// Commits facts to a store, many at a time.
class Committer {
 public:
  explicit Committer(Store& store) : store_(store) {}
  void add(const Fact& fact) {
    facts_.push_back(fact);
    if (facts_.size() >= kFactsOfCommit) commit();
  }
  void commit() {
    if (facts_.empty()) return;
    const auto error = store_.commit(facts_);
    ASSERT_FALSE(error) << error->message();
    facts_.clear();
  }

 private:
  Store& store_;
  std::vector<Fact> facts_;
};

sim::Workload days(double count) {
  const bool is_real = std::filesystem::exists(philly_path());
  std::vector<sim::TraceJob> trace;
  sim::WorkloadOptions options;
  if (is_real) {
    auto read = sim::read_trace(philly_path());
    EXPECT_TRUE(read.ok());
    trace = std::move(*read);
    options.from_day = kBusyDay;
    options.to_day = kBusyDay + count;
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
  Committer committer(**store);
  FactPort port([&](const Fact& fact) { committer.add(fact); });
  Nobody nobody;
  Policy policy;
  policy.patience_ms = kHourMs;
  sim::Driver driver(workload, port, nobody);
  ASSERT_FALSE(driver.set_up(policy));
  driver.run();
  committer.commit();

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

// The store on PostgreSQL beside what the server itself can do: what the check of the epoch costs, alone and beside a
// snapshot that is held open, and how far behind a standby is. Its own server, in memory, where a check costs the most of
// a commit.
//   bench_postgres [SNAPSHOT_SECONDS]
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "engine/engine.h"
#include "row.h"
#include "server/runtime/clock/clock.h"
#include "server/store/postgres/batch.h"
#include "server/store/postgres/leadership.h"
#include "server/store/postgres/postgres_store.h"
#include "tests/server/store/support/pg_cluster.h"

namespace subak {
namespace {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

constexpr char kWithout[] = "WITH l AS MATERIALIZED (SELECT $1::bigint AS epoch) ";
constexpr int kCommits = 4000;  // of each kind
constexpr int kBatchJobs = 50;  // of the load beside a standby
constexpr std::size_t kMostWaiting = 10'000;
constexpr auto kLoad = 20s;

[[noreturn]] void fail(const Error& error) {
  std::fprintf(stderr, "bench_postgres: %s\n", error.message().c_str());
  std::exit(1);
}
template <class T>
T taken(Result<T> result) {
  if (!result.ok()) fail(result.error());
  return std::move(*result);
}

double us_since(Steady::time_point begin) {
  return std::chrono::duration<double, std::micro>(Steady::now() - begin).count();
}

double part(std::vector<double> values, double which) {
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(which * static_cast<double>(values.size()));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// Facts as an engine makes them: a queue of jobs. Once kMostWaiting wait, a job is cancelled for each that
// comes: a load of any length stays below the limits.
class Maker {
 public:
  Maker() {
    in::SetCluster cluster;
    cluster.name = "bench";
    cluster.reason = "bench";
    apply(cluster);
    in::SetAccount account;
    account.spec.path = "bench";
    account.spec.shares = 1;
    account.reason = "bench";
    apply(account);
  }
  std::vector<Fact> jobs(int count) {
    for (int i = 0; i < count; ++i) {
      in::SubmitJob job;
      job.cluster = "bench";
      job.account = "bench";
      job.user = "u1";
      job.name = "train";
      job.request.groups.emplace_back();
      job.request.groups[0].count = 2;
      job.request.groups[0].shape.gpus = 8;
      waiting_.push_back(apply(job).job);
    }
    while (waiting_.size() > kMostWaiting) {
      apply(in::CancelJob{waiting_.front(), "bench"});
      waiting_.pop_front();
    }
    return std::exchange(facts_, {});
  }

 private:
  Reply apply(in::Body body) {
    const std::string id = "00000000-0000-4000-8000-" + std::to_string(100'000'000'000 + made_++);
    ApplyOutcome outcome =
        engine_.apply(Input{1'800'000'000'000 + made_, id, "bench", std::move(body)});
    if (outcome.reply.error) fail(*outcome.reply.error);
    std::move(outcome.facts.begin(), outcome.facts.end(), std::back_inserter(facts_));
    return outcome.reply;
  }
  Engine engine_;
  std::deque<JobId> waiting_;
  std::vector<Fact> facts_;
  TimeMs made_ = 0;
};

std::unique_ptr<Store> open(const std::string& address, const Clock& clock) {
  PostgresOptions options{address, &clock, "bench"};
  return taken(open_postgres_store(options));
}

// Single commits of one job, every second one without the check.
class Check {
 public:
  Check(const std::string& address, const Clock& clock) {
    open(address, clock);  // makes the tables
    if (auto error = db_.open(taken(postgres::parse_address(address)))) fail(*error);
    epoch_ = taken(postgres::look_at_lead(db_)).lead.epoch;
    const std::string with(postgres::kIfLeading), all = postgres::Batch::kSql;
    sql_[0] = kWithout + all.substr(with.size());
    sql_[1] = all;
  }
  // Medians in microseconds: without, and with.
  std::array<double, 2> medians(int commits) {
    std::array<std::vector<double>, 2> us;
    for (int i = 0; i < 2 * commits; ++i) us[i % 2].push_back(commit(sql_[i % 2]));
    return {part(us[0], 0.5), part(us[1], 0.5)};
  }

 private:
  double commit(const std::string& sql) {
    const std::vector<Fact> facts = maker_.jobs(1);
    const auto batch = taken(postgres::Batch::make(facts, position_, 1, kFactVersion, {}));
    const auto begin = Steady::now();
    const PgResult row = db_.run(sql.c_str(), batch.parameters(epoch_));
    const double us = us_since(begin);
    if (!row.ok() || row.rows() != 1) fail(db_.error("commit", row));
    position_ = batch.after();
    return us;
  }
  using PgResult = postgres::PgResult;
  Maker maker_;
  postgres::PgConnection db_;
  postgres::Position position_;
  std::int64_t epoch_ = 0;
  std::array<std::string, 2> sql_;
};

void epoch_check(PgCluster& cluster, const Clock& clock, int snapshot_s) {
  constexpr char kLimit[] =
      "the same statement without the check of the epoch, every second commit";
  const std::string address = cluster.make_database();
  Check check(address, clock);
  check.medians(kCommits / 4);
  const auto alone = check.medians(kCommits);
  bench::row("pg_commit_us", alone[1], "us", alone[0], bench::Better::kLess, kLimit);
  PgSession snapshot(address);
  snapshot.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
  snapshot.run("SELECT count(*) FROM facts");
  const auto until = Steady::now() + std::chrono::seconds(snapshot_s);
  int commits = 0;
  while (Steady::now() < until) {
    check.medians(100);
    commits += 200;
  }
  const auto beside = check.medians(kCommits);
  std::fprintf(stderr,
               "pg_commit: %.0f us with the check, %.0f without; after %d s and %d commits beside "
               "a snapshot %.0f and %.0f\n",
               alone[1], alone[0], snapshot_s, commits, beside[1], beside[0]);
  bench::row("pg_commit_us_snapshot", beside[1], "us", beside[0], bench::Better::kLess, kLimit);
}

// From durable on the leader to applied by a standby, which reads as server/leader/standby.h does while it waits for the
// lead: the last fact that it knows again and what came after it, into two engines.
void standby_lag(PgCluster& cluster, const Clock& clock) {
  const std::string address = cluster.make_database();
  auto store = open(address, clock);
  Maker maker;
  std::mutex mutex;
  std::vector<std::pair<std::uint64_t, Steady::time_point>> durable;  // under the mutex
  std::vector<double> lag_ms;
  std::atomic<bool> stop{false};
  std::thread standby([&] {
    Engine loop, follower;
    const auto shared = taken(open_shared_store({address, &clock, "standby"}));
    const auto reader = taken(shared->open_reader());
    while (!stop) {
      if (taken(shared->try_lead())) std::abort();
      const std::uint64_t known = std::max<std::uint64_t>(loop.seq(), 1) - 1;
      for (const Fact& fact : taken(reader->facts(known, limits::kCopiedFactsAtOnce))) {
        if (fact.seq <= loop.seq()) continue;
        loop.evolve(fact);
        follower.evolve(fact);
      }
      {
        const std::lock_guard lock(mutex);
        std::erase_if(durable, [&](const auto& batch) {
          if (batch.first > loop.seq()) return false;
          lag_ms.push_back(us_since(batch.second) / 1000);
          return true;
        });
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(limits::kLeadLookMs));
    }
  });
  const auto until = Steady::now() + kLoad;
  std::uint64_t facts = 0;
  while (Steady::now() < until) {
    const std::vector<Fact> batch = maker.jobs(kBatchJobs);
    if (auto error = store->commit(batch)) fail(*error);
    facts += batch.size();
    const std::lock_guard lock(mutex);
    durable.emplace_back(batch.back().seq, Steady::now());
    std::this_thread::sleep_for(5ms);
  }
  while (std::this_thread::sleep_for(20ms), [&] {
    const std::lock_guard lock(mutex);
    return !durable.empty();
  }()) {
  }
  stop = true;
  standby.join();
  std::fprintf(stderr, "standby: %.0f facts a second; lag p50 %.1f ms, p99 %.1f ms, most %.1f ms\n",
               static_cast<double>(facts) / std::chrono::duration<double>(kLoad).count(),
               part(lag_ms, 0.5), part(lag_ms, 0.99),
               *std::max_element(lag_ms.begin(), lag_ms.end()));
  bench::row("pg_standby_lag_p99_ms", part(lag_ms, 0.99), "ms");
}

}  // namespace
}  // namespace subak

int main(int argc, char** argv) {
  subak::PgCluster cluster;
  const subak::SystemClock clock;
  subak::epoch_check(cluster, clock, argc > 1 ? std::atoi(argv[1]) : 300);
  subak::standby_lag(cluster, clock);
}

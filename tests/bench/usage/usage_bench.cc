// A usage report by account, product and month over the ledger of 1,000 accounts and 50 days: the
// store reads the sums of days, and the rows of the last day, which are in no sum yet. The figures
// are compared with the sum of the rows.
//
// And the history of a team of 20 accounts over the same days, in steps of an hour, which reads the
// rows of these accounts by the index of payers.
//
// SUBAK_BENCH_LEDGER_ROWS: how many rows the first 49 days have. The default is 1,000,000, so that
// the bench takes seconds; 10,000,000 rows take minutes and 4 GB of disk. A report reads the same
// sums of days with either number. The last day always has the 200,000 rows that one of 50 days has
// in a ledger of 10,000,000.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "server/api/history/history_limits.h"
#include "server/api/history/usage_steps.h"
#include "server/api/usage/usage_sums.h"
#include "server/store/proof/sqlite_reader.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/bench/row.h"

namespace subak {
namespace {

namespace fs = std::filesystem;

constexpr int kAccounts = 1000;
constexpr std::int64_t kDays = 50;
constexpr TimeMs kStart = 20'000 * kDayMs;  // 2024-10-04
constexpr std::int64_t kOpenRows = 200'000;
constexpr int kReports = 5;
constexpr std::size_t kTeam = 20;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "bench_usage: %s\n", what.c_str());
  std::exit(1);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Account, product and the first second of the month.
using Key = std::tuple<std::string, std::string, std::int64_t>;

class Ledger1000 {
 public:
  explicit Ledger1000(const std::string& path) : path_(path) {
    auto store = open_sqlite_store({.path = path, .check = false});
    if (!store.ok()) fail(store.error().message());
    store_ = std::move(*store);
    for (int i = 0; i < kAccounts; ++i) {
      in::SetAccount set;
      set.spec.path = "a" + std::to_string(i);
      set.reason = "bench";
      const auto outcome = engine_.apply(
          {.time_ms = kStart, .request_id = {}, .actor = "bench", .body = std::move(set)});
      if (outcome.reply.error) fail(outcome.reply.error->message());
      leaves_.push_back(engine_.accounts().find("a" + std::to_string(i)));
    }
  }

  // Writes the rows of one day.
  void write_day(std::int64_t day, std::int64_t rows) {
    std::vector<Fact> facts;
    for (std::int64_t i = 0; i < rows; ++i) {
      facts.push_back(row(day));
      if (facts.size() < 20'000 && i + 1 < rows) continue;
      if (auto error = store_->commit(facts)) fail(error->message());
      facts.clear();
    }
  }
  void add_sums() {
    if (auto error = store_->add_day_sums([] { return true; })) fail(error->message());
  }
  std::size_t sums() {
    std::size_t out = 0;
    const auto days = (*store_->open_reader())->day_sums(0, INT64_MAX);
    if (!days.ok()) fail(days.error().message());
    for (const auto& part : days->parts) out += part.sums.size();
    return out;
  }
  // In milliseconds of processor time.
  double report() {
    v1::ReportUsageRequest in;
    in.set_by_product(true);
    in.set_period(v1::PERIOD_MONTH);
    v1::ReportUsageResponse out;
    const auto reader = std::move(*store_->open_reader());
    const bench::Stopwatch reporting;
    LedgerQuery query;
    query.columns = api::columns_of(in);
    query.with_platform = true;
    const auto usage = reader->daily_usage(query);
    if (!usage.ok()) fail(usage.error().message());
    api::UsageSums sums(in, query, engine_);
    for (const DailyUsage& one : *usage) sums.add_booked(one);
    sums.put_into(&out, false);
    const double ms = reporting.ns() / 1e6;
    compare(out);
    return ms;
  }
  // In milliseconds of processor time.
  double history() {
    const auto reader = std::move(
        *SqliteReader::open(path_, kFactVersion, std::make_shared<std::atomic<bool>>(true)));
    const bench::Stopwatch reading;
    LedgerQuery query;
    query.from_ms = kStart;
    query.to_ms = kStart + kDays * kDayMs;
    query.payers.assign(leaves_.begin(), leaves_.begin() + kTeam);
    query.with_platform = true;
    query.most = limits::kLedgerRowsPerTurn;
    api::UsageSteps steps(query.from_ms, query.to_ms, kHourMs, query.payers);
    for (query.after_seq = 0; query.after_seq < seq_; query.after_seq = query.last_seq) {
      query.last_seq = query.after_seq + 4 * limits::kLedgerFactsPerTurn;
      const auto rows = reader->ledger(query);
      if (!rows.ok()) fail(rows.error().message());
      for (const LedgerEntry& entry : *rows) steps.add(entry.row);
    }
    const double ms = reading.ns() / 1e6;
    GpuTime got, want;
    for (std::size_t i = 0; i < steps.size(); ++i) got += steps[i].used + steps[i].held;
    for (std::size_t i = 0; i < kTeam; ++i) {
      for (const auto& [key, amount] : want_) {
        if (std::get<0>(key) == "a" + std::to_string(i)) want += amount;
      }
    }
    if (got != want) fail("the history is not the sum of the rows");
    return ms;
  }

 private:
  Fact row(std::int64_t day) {
    const auto account = random_() % kAccounts;
    LedgerRow row;
    row.allocation = {JobId(ClusterId(1), ++seq_), 0, 1};
    row.from_ms = kStart + day * kDayMs + static_cast<TimeMs>(random_() % (kDayMs - 1));
    row.to_ms = row.from_ms + 1 +
                static_cast<TimeMs>(random_() % static_cast<std::uint64_t>(
                                                    kStart + (day + 1) * kDayMs - row.from_ms));
    row.to_ms = std::min(row.to_ms, kStart + (day + 1) * kDayMs);
    row.holder = row.payer = leaves_[account];
    row.state = random_() % 4 == 0 ? UsageState::kHeld : UsageState::kUsed;
    row.node = NodeId(1);
    row.product = random_() % 3 == 0 ? "NVIDIA-A100-SXM4-80GB" : "NVIDIA-H100-80GB-HBM3";
    row.milligpu = 1000 * static_cast<MilliGpu>(1 + random_() % 8);
    row.cluster = "east";
    row.ns = random_() % 2 == 0 ? "team-" + std::to_string(account) : "shared";
    time_ms_ = std::max(time_ms_, row.to_ms);
    const std::int64_t month = first_day_of(UsagePeriod::kMonth, row.from_ms / kDayMs);
    want_[{"a" + std::to_string(account), row.product, month * kDayMs / kSecondMs}] += row.amount();
    return Fact{seq_, time_ms_, fact::Charged{std::move(row)}};
  }
  void compare(const v1::ReportUsageResponse& out) const {
    std::map<Key, GpuTime> got;
    for (const v1::UsageRow& row : out.rows()) {
      got[{row.account(), row.product(), row.day().seconds()}] +=
          GpuTime::from_parts(row.amount().gpu_seconds(), row.amount().rest_milligpu_ms());
    }
    if (got != want_) fail("the report is not the sum of the rows");
  }

  const std::string path_;
  std::unique_ptr<Store> store_;
  Engine engine_;
  std::vector<AccountId> leaves_;
  std::map<Key, GpuTime> want_;
  std::mt19937_64 random_{1};
  std::uint64_t seq_ = 0;
  TimeMs time_ms_ = kStart;
};

void run() {
  const char* const asked = std::getenv("SUBAK_BENCH_LEDGER_ROWS");
  const std::int64_t rows = asked != nullptr ? std::atoll(asked) : 1'000'000;
  const fs::path folder =
      fs::temp_directory_path() / ("subak_bench_usage_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  auto start = std::chrono::steady_clock::now();
  {
    Ledger1000 ledger((folder / "subak.db").string());
    double summing = 0;
    for (std::int64_t day = 0; day < kDays; ++day) {
      const bool is_open = day + 1 == kDays;
      ledger.write_day(day, is_open ? kOpenRows : rows / (kDays - 1));
      if (is_open) break;
      const auto since = std::chrono::steady_clock::now();
      ledger.add_sums();
      summing += seconds_since(since);
    }
    std::fprintf(stderr, "usage: %lld rows in %.1f s, %zu sums of days in %.1f s of it\n",
                 static_cast<long long>(rows + kOpenRows), seconds_since(start), ledger.sums(),
                 summing);
    std::vector<double> ms;
    for (int i = 0; i < kReports; ++i) ms.push_back(ledger.report());
    std::sort(ms.begin(), ms.end());
    std::fprintf(stderr, "usage report: median %.0f ms, longest %.0f\n", ms[kReports / 2],
                 ms.back());
    bench::row("usage_report_ms", ms[kReports / 2], "ms");
    for (double& one : ms) one = ledger.history();
    std::sort(ms.begin(), ms.end());
    std::fprintf(stderr, "usage history: median %.0f ms, longest %.0f\n", ms[kReports / 2],
                 ms.back());
    bench::row("usage_history_ms", ms[kReports / 2], "ms");
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace subak

int main() { subak::run(); }

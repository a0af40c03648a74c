// The sums of days: what they add up to is exactly what the rows add up to, whatever happened to them.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "tests/server/store/support/store_facts.h"
#include "tests/server/store/support/store_stand.h"

namespace subak {
namespace {

const auto kGo = [] { return true; };

// Random rows of 40 days: some late, some that correct others, some for a month that was closed.
class RandomRows {
 public:
  explicit RandomRows(unsigned seed) : random_(seed) {}

  Fact next() {
    LedgerRow row;
    row.allocation = {JobId(ClusterId(1), 1 + below(50)), 0, static_cast<std::uint32_t>(++seq_)};
    time_ms_ += static_cast<TimeMs>(below(2 * kHourMs));
    row.to_ms = time_ms_ - static_cast<TimeMs>(below(5) == 0 ? below(9 * kDayMs) : 0);
    row.to_ms = std::max<TimeMs>(row.to_ms, kDayMs);
    row.from_ms = row.to_ms - 1 - static_cast<TimeMs>(below(kDayMs - 1));
    row.holder = AccountId(2 + static_cast<std::uint32_t>(below(3)));
    row.payer = below(4) == 0 ? kPlatform : row.holder;
    row.state = static_cast<UsageState>(below(5));
    row.node = NodeId(1);
    row.product = below(2) == 0 ? "H100" : "A100";
    row.milligpu = 1 + static_cast<MilliGpu>(below(8000));
    if (below(6) == 0) {
      row.corrects = seq_;
      row.milligpu = -row.milligpu;
    }
    if (below(3) > 0) {  // the others are rows of an older version
      row.cluster = below(2) == 0 ? "east" : "west";
      row.ns = std::string(below(3), 'n');
      row.profile = below(4) == 0 ? "1g.10gb" : "";
      if (below(9) == 0) row.booked_ms = time_ms_;
    }
    return Fact{seq_, time_ms_, fact::Charged{row}};
  }
  std::uint64_t below(std::int64_t n) {
    return std::uniform_int_distribution<std::uint64_t>(0,
                                                        static_cast<std::uint64_t>(n) - 1)(random_);
  }
  TimeMs time_ms() const { return time_ms_; }

 private:
  std::mt19937 random_;
  std::uint64_t seq_ = 0;
  TimeMs time_ms_ = 10 * kDayMs;
};

using Key = std::tuple<std::int64_t, AccountId, AccountId, UsageState, std::string, std::string,
                       std::string, std::string, std::uint64_t>;
using Sums = std::map<Key, std::pair<GpuTime, std::uint64_t>>;

// The sums by the definition, one millisecond interval after the other.
Sums expected(const std::vector<Fact>& facts, const LedgerQuery& query) {
  Sums out;
  const UsageColumns& by = query.columns;
  for (const Fact& fact : facts) {
    const LedgerRow& row = std::get<fact::Charged>(fact.body).row;
    if (fact.seq > query.last_seq) continue;
    if (!query.payers.empty() && row.payer != query.payers[0] &&
        !(query.with_platform && row.payer == kPlatform && row.holder == query.payers[0])) {
      continue;
    }
    const TimeMs from = std::max(query.from_ms, row.counts_from());
    const TimeMs to = std::min(query.to_ms, row.counts_to());
    for (TimeMs at = from; at < to;) {
      const std::int64_t day = at / kDayMs;
      const TimeMs end = std::min(to, (day + 1) * kDayMs);
      const bool all = by.period == UsagePeriod::kAll;
      auto& [amount, rows] = out[{all ? 0 : first_day_of(by.period, day), row.payer, row.holder,
                                  row.state, by.product ? row.product : "",
                                  by.profile ? row.profile : "", by.cluster ? row.cluster : "",
                                  by.ns ? row.ns : "", by.job ? row.allocation.job.value : 0}];
      amount += row.booked_ms != 0 ? row.amount() : GpuTime::of(row.milligpu, end - at);
      ++rows;
      at = end;
    }
  }
  return out;
}

Sums read_sums(StoreReader& reader, const LedgerQuery& query) {
  const auto usage = reader.daily_usage(query);
  EXPECT_TRUE(usage.ok()) << usage.error().message();
  Sums out;
  for (const DailyUsage& u : *usage) {
    const std::int64_t day = query.columns.period == UsagePeriod::kAll ? 0 : u.day;
    out[{day, u.payer, u.holder, u.state, u.product, u.profile, u.cluster, u.ns, u.job.value}] = {
        u.amount, u.rows};
  }
  return out;
}

class StoreDays : public testing::TestWithParam<std::string> {
 protected:
  StoreDays() : store_(std::move(*stand_->open(kFactVersion))) {}

  void commit(std::size_t rows) {
    const std::size_t from = facts_.size();
    for (std::size_t i = 0; i < rows; ++i) facts_.push_back(random_.next());
    ASSERT_FALSE(store_->commit({facts_.data() + from, rows}));
  }
  void add_sums() {
    const auto error = store_->add_day_sums(kGo);
    ASSERT_FALSE(error) << error->message();
  }
  std::unique_ptr<StoreReader> reader() { return std::move(*store_->open_reader()); }
  DayMark mark() {
    const auto sums = reader()->day_sums(0, 0);
    EXPECT_TRUE(sums.ok()) << sums.error().message();
    return sums.ok() ? sums->mark : DayMark();
  }
  // Compares many random queries with the definition.
  void check_queries(int queries) {
    const auto read = reader();
    for (int i = 0; i < queries; ++i) {
      LedgerQuery query;
      const auto when = [&] {
        const auto t = static_cast<TimeMs>(random_.below(random_.time_ms() + kDayMs));
        return random_.below(2) == 0 ? t - t % kDayMs : t;
      };
      if (random_.below(3) > 0) query.from_ms = when();
      if (random_.below(3) > 0) query.to_ms = std::max(query.from_ms + 1, when());
      if (random_.below(3) == 0)
        query.last_seq = 1 + random_.below(static_cast<std::int64_t>(facts_.size()));
      if (random_.below(2) == 0) query.payers = {AccountId(2)};
      query.with_platform = random_.below(2) == 0;
      query.columns = {static_cast<UsagePeriod>(random_.below(4)),
                       random_.below(2) == 0,
                       random_.below(2) == 0,
                       random_.below(2) == 0,
                       random_.below(2) == 0,
                       random_.below(4) == 0};
      ASSERT_EQ(read_sums(*read, query), expected(facts_, query))
          << "from " << query.from_ms << " to " << query.to_ms << " until " << query.last_seq;
    }
  }

  std::unique_ptr<Stand> stand_ = make_stand(GetParam());
  std::unique_ptr<Store> store_;
  RandomRows random_{7};
  std::vector<Fact> facts_;
};

TEST_P(StoreDays, RowsComeBackWithWhereTheyWereUsed) {
  commit(200);
  const auto rows = reader()->ledger({});
  ASSERT_TRUE(rows.ok()) << rows.error().message();
  ASSERT_EQ(rows->size(), facts_.size());
  for (std::size_t i = 0; i < facts_.size(); ++i) {
    EXPECT_EQ((*rows)[i].row, std::get<fact::Charged>(facts_[i].body).row);
  }
}

TEST_P(StoreDays, AReportIsTheSumOfTheRows) {
  commit(300);
  check_queries(30);
  add_sums();
  EXPECT_EQ(mark().seq, 300u);
  EXPECT_EQ(mark().rows, 300u);
  check_queries(100);
  commit(150);  // with corrections of days that are in the sums
  check_queries(100);
  add_sums();
  add_sums();
  EXPECT_EQ(mark().rows, 450u);
  check_queries(100);
}

// Only the sums are read for complete days: a report does not see a row that only the table lost.
TEST_P(StoreDays, CompleteDaysAreReadFromSums) {
  commit(300);
  add_sums();
  const Sums want = expected(facts_, {});
  EXPECT_EQ(read_sums(*reader(), {}), want);
  stand_->run("DELETE FROM ledger WHERE seq < 200");
  EXPECT_EQ(read_sums(*reader(), {}), want);
}

TEST_P(StoreDays, AStopAndACrashLoseNothing) {
  commit(100);
  EXPECT_FALSE(store_->add_day_sums([] { return false; }));
  EXPECT_EQ(mark(), DayMark());
  add_sums();
  store_ = nullptr;
  store_ = std::move(*stand_->open(kFactVersion));
  EXPECT_EQ(mark().seq, 100u);
  check_queries(20);
}

// A damaged or lost sum is found, is not used, and is made again.
TEST_P(StoreDays, AChangedByteIsFoundAndMadeAgain) {
  commit(300);
  add_sums();
  const std::string day = "(SELECT max(day) FROM usage_days)";
  const std::string byte = GetParam() == "sqlite" ? "x'00'" : "'\\x00'::bytea";
  for (const std::string& sql :
       {"UPDATE usage_days SET sums = sums || " + byte + " WHERE day = " + day,
        "UPDATE usage_days SET sum = sum + 1 WHERE day = " + day,
        "UPDATE usage_days SET day = day + 9 WHERE day = " + day,
        "DELETE FROM usage_days WHERE day = " + day,
        std::string("UPDATE usage_mark SET seq = seq - 1")}) {
    stand_->run(sql);
    EXPECT_FALSE(reader()->day_sums(0, INT64_MAX).ok()) << sql;
    EXPECT_EQ(read_sums(*reader(), {}), expected(facts_, {})) << sql;
    add_sums();
    EXPECT_TRUE(reader()->day_sums(0, INT64_MAX).ok()) << sql;
    EXPECT_EQ(mark().rows, 300u);
    check_queries(5);
  }
  stand_->run("DELETE FROM usage_days");
  stand_->run("DELETE FROM usage_mark");
  EXPECT_EQ(read_sums(*reader(), {}), expected(facts_, {}));
  add_sums();
  EXPECT_EQ(mark().rows, 300u);
}

TEST_P(StoreDays, ARowWithAnotherNamespaceIsDamaged) {
  commit(50);
  stand_->run(GetParam() == "sqlite" ? "UPDATE ledger SET ns = 'other' WHERE seq = 20"
                                     : "UPDATE ledger SET ns = 'other'::bytea WHERE seq = 20");
  EXPECT_FALSE(reader()->ledger({}).ok());
}

INSTANTIATE_TEST_SUITE_P(Both, StoreDays, testing::Values("sqlite", "postgres"),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace subak

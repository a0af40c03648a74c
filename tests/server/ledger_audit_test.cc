#include "server/metrics/ledger_audit.h"

#include <gtest/gtest.h>

#include "core/limits.h"

namespace subak::metrics {
namespace {

// Rows 1, 2, 3, ... of the books, nothing else.
class RowsReader final : public StoreReader {
 public:
  explicit RowsReader(std::size_t rows) {
    for (std::size_t i = 1; i <= rows; ++i) {
      LedgerEntry entry;
      entry.seq = i * 2;
      entry.row.allocation.job = JobId(i);
      entry.row.from_ms = 0;
      entry.row.to_ms = 1000;
      entry.row.holder = entry.row.payer = AccountId(static_cast<std::uint32_t>(2 + i % 3));
      entry.row.node = NodeId(static_cast<std::uint32_t>(1 + i % 5));
      entry.row.product = "H100";
      entry.row.milligpu = 8000;
      rows_.push_back(entry);
    }
  }
  Result<std::vector<LedgerEntry>> ledger(const LedgerQuery& query) override {
    ++pages_;
    if (fails_) return Error{ErrorCode::kPrecondition, "ledger", "", "cannot be read"};
    std::vector<LedgerEntry> out;
    for (const LedgerEntry& entry : rows_) {
      if (entry.seq > query.after_seq && out.size() < query.most) out.push_back(entry);
    }
    return out;
  }
  Result<Recovered> recover(FactSink&) override { return Recovered(); }
  Result<std::vector<Fact>> facts(std::uint64_t, std::size_t) override {
    return std::vector<Fact>();
  }
  Result<std::uint64_t> last_seq() override { return 0; }
  Result<std::uint64_t> last_seq_until(TimeMs) override { return 0; }
  Result<std::vector<DailyUsage>> daily_usage(const LedgerQuery&) override {
    return std::vector<DailyUsage>();
  }
  Result<std::vector<AuditEntry>> audit(const AuditQuery&) override {
    return std::vector<AuditEntry>();
  }

  std::vector<LedgerEntry> rows_;
  int pages_ = 0;
  bool fails_ = false;
};

Balances balances_of(const RowsReader& reader, std::uint64_t seq) {
  Balances kept;
  kept.seq = seq;
  for (const LedgerEntry& entry : reader.rows_) {
    if (entry.seq <= seq) kept.ledger.add(entry.row);
  }
  return kept;
}

std::optional<std::int64_t> drift(const Balances& kept, RowsReader& reader) {
  const std::atomic<bool> stop{false};
  const auto result = measure_drift(kept, reader, stop);
  EXPECT_TRUE(result.ok());
  return *result;
}

TEST(Drift, IsZeroOverSeveralPagesAndIgnoresLaterRows) {
  RowsReader reader(limits::kLedgerAuditPageRows + 10);
  EXPECT_EQ(drift(balances_of(reader, 2 * reader.rows_.size()), reader), 0);
  EXPECT_EQ(reader.pages_, 2);
  EXPECT_EQ(drift(balances_of(reader, 100), reader), 0);
  EXPECT_EQ(drift(balances_of(reader, 0), reader), 0);
}

TEST(Drift, SeesAMissingRowAWrongHolderAndAWrongAmount) {
  RowsReader reader(20);
  const Balances kept = balances_of(reader, 40);
  const LedgerEntry row = reader.rows_[7];
  reader.rows_.erase(reader.rows_.begin() + 7);
  EXPECT_EQ(drift(kept, reader), 8);
  reader.rows_.insert(reader.rows_.begin() + 7, row);
  EXPECT_EQ(drift(kept, reader), 0);
  reader.rows_[7].row.holder = AccountId(9);
  EXPECT_EQ(drift(kept, reader), 8);
  reader.rows_[7] = row;
  // A thousandth of a GPU for a second is not rounded to nothing.
  reader.rows_[7].row.milligpu += 1;
  EXPECT_EQ(drift(kept, reader), 1);
}

TEST(Drift, ARemovedNodeIsNoDriftAndAWrongNodeIs) {
  RowsReader reader(20);
  Balances kept = balances_of(reader, 40);
  kept.ledger.drop_node(NodeId(3));
  EXPECT_EQ(drift(kept, reader), 0);
  reader.rows_[0].row.node = NodeId(3);  // was 2
  EXPECT_EQ(drift(kept, reader), 8);
}

TEST(Drift, EndsWhenToldTo) {
  RowsReader reader(20);
  const std::atomic<bool> stop{true};
  const auto result = measure_drift(balances_of(reader, 40), reader, stop);
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result->has_value());
}

TEST(Drift, TheFirstLongAuditWaits) {
  EXPECT_EQ(audit_first_wait_ms(0), 0);
  EXPECT_EQ(audit_first_wait_ms(limits::kLedgerAuditAtOnceRows), 0);
  EXPECT_EQ(audit_first_wait_ms(limits::kLedgerAuditAtOnceRows + 1), limits::kLedgerAuditWaitMs);
}

TEST(Drift, AReaderThatFailsIsNoDrift) {
  RowsReader reader(20);
  const Balances kept = balances_of(reader, 40);
  reader.fails_ = true;
  const std::atomic<bool> stop{false};
  EXPECT_FALSE(measure_drift(kept, reader, stop).ok());
}

}  // namespace
}  // namespace subak::metrics

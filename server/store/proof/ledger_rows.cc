#include "server/store/proof/ledger_rows.h"

#include <algorithm>
#include <utility>

#include "server/store/file/row_sum.h"

namespace subak {
namespace {

constexpr std::string_view kInsert =
    "INSERT INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

constexpr int kClockBits = 8;

template <class T>
T narrow(std::int64_t value) {
  return static_cast<T>(value);
}

}  // namespace

std::int64_t stored_state(const LedgerRow& row) {
  return static_cast<std::int64_t>(row.state) | static_cast<std::int64_t>(row.clock) << kClockBits;
}

void read_stored_state(std::int64_t stored, LedgerRow& row) {
  row.state = static_cast<UsageState>(stored & ((1 << kClockBits) - 1));
  row.clock = static_cast<RowClock>(stored >> kClockBits);
}

std::uint32_t ledger_sum(std::uint32_t seed, std::uint64_t ord, const LedgerEntry& entry) {
  const LedgerRow& row = entry.row;
  RowSum sum(seed);
  sum.add(entry.seq)
      .add(entry.time_ms)
      .add(row.allocation.job.value)
      .add(std::uint64_t{row.allocation.rank})
      .add(std::uint64_t{row.allocation.attempt})
      .add(row.from_ms)
      .add(row.to_ms)
      .add(std::uint64_t{row.holder.value})
      .add(std::uint64_t{row.payer.value})
      .add(static_cast<std::uint64_t>(stored_state(row)))
      .add(std::uint64_t{row.node.value})
      .add(std::string_view(row.product))
      .add(row.milligpu)
      .add(row.corrects)
      .add(ord);
  const bool is_old =
      row.cluster.empty() && row.ns.empty() && row.profile.empty() && row.booked_ms == 0;
  if (is_old) return sum.value();  // so did versions without these columns
  return sum.add(std::string_view(row.cluster))
      .add(std::string_view(row.ns))
      .add(std::string_view(row.profile))
      .add(row.booked_ms)
      .value();
}

bool LedgerWriter::prepare(Connection& db, std::uint32_t seed) {
  seed_ = seed;
  return insert_.prepare(db, kInsert);
}

bool LedgerWriter::insert(std::uint64_t ord, const LedgerEntry& entry) {
  const LedgerRow& row = entry.row;
  insert_.bind(1, entry.seq);
  insert_.bind(2, entry.time_ms);
  insert_.bind(3, row.allocation.job.value);
  insert_.bind(4, std::uint64_t{row.allocation.rank});
  insert_.bind(5, std::uint64_t{row.allocation.attempt});
  insert_.bind(6, row.from_ms);
  insert_.bind(7, row.to_ms);
  insert_.bind(8, std::uint64_t{row.holder.value});
  insert_.bind(9, std::uint64_t{row.payer.value});
  insert_.bind(10, stored_state(row));
  insert_.bind(11, std::uint64_t{row.node.value});
  insert_.bind(12, std::string_view(row.product));
  insert_.bind(13, row.milligpu);
  insert_.bind(14, row.corrects);
  insert_.bind(15, ord);
  insert_.bind(16, sum_column(ledger_sum(seed_, ord, entry)));
  insert_.bind(17, std::string_view(row.cluster));
  insert_.bind(18, std::string_view(row.ns));
  insert_.bind(19, std::string_view(row.profile));
  insert_.bind(20, row.booked_ms);
  return insert_.run();
}

std::optional<LedgerEntry> ledger_entry(const Statement& query, std::uint32_t seed) {
  LedgerEntry entry;
  entry.seq = query.unsigned_number(0);
  entry.time_ms = query.number(1);
  LedgerRow& row = entry.row;
  row.allocation.job = JobId(query.unsigned_number(2));
  row.allocation.rank = narrow<std::uint32_t>(query.number(3));
  row.allocation.attempt = narrow<std::uint32_t>(query.number(4));
  row.from_ms = query.number(5);
  row.to_ms = query.number(6);
  row.holder = AccountId(narrow<std::uint32_t>(query.number(7)));
  row.payer = AccountId(narrow<std::uint32_t>(query.number(8)));
  read_stored_state(query.number(9), row);
  row.node = NodeId(narrow<std::uint32_t>(query.number(10)));
  row.product = query.text(11);
  row.milligpu = query.number(12);
  row.corrects = query.unsigned_number(13);
  row.cluster = query.text(16);
  row.ns = query.text(17);
  row.profile = query.text(18);
  row.booked_ms = query.number(19);
  if (sum_of(query.number(15)) != ledger_sum(seed, ledger_ord(query), entry)) return std::nullopt;
  return entry;
}

std::uint64_t ledger_ord(const Statement& query) { return query.unsigned_number(14); }

}  // namespace subak

#include "server/store/days/sqlite_days.h"

#include <algorithm>
#include <string>
#include <utility>

#include "server/store/file/refusals.h"
#include "server/store/file/row_sum.h"

namespace subak {
namespace {

constexpr char kTable[] = "usage_days";

// An empty mark: there are no sums.
Result<DayMark> read_mark(Connection& db, std::uint32_t seed) {
  Statement row;
  if (!row.prepare(db, "SELECT seq, rows, parts, from_day, to_day, sum FROM usage_mark")) {
    return unreadable_store(db, db.path());
  }
  if (!row.step()) {
    if (row.failed()) return unreadable_store(db, db.path());
    return DayMark();
  }
  const DayMark mark{row.unsigned_number(0), row.unsigned_number(1), row.unsigned_number(2),
                     row.number(3), row.number(4)};
  if (sum_of(row.number(5)) != mark_sum(seed, mark)) {
    return damaged_row(db.path(), "usage_mark", "1");
  }
  return mark;
}

Result<codec::DaySumsPart> part_of(const Connection& db, const Statement& row, std::uint32_t seed) {
  const std::int64_t day = row.number(0);
  const std::string_view bytes = row.blob(2);
  if (sum_of(row.number(3)) == part_sum(seed, day, row.unsigned_number(1), bytes)) {
    auto part = codec::decode_day_sums(bytes);
    if (part.ok() && part->day == day) return part;
  }
  return damaged_row(db.path(), kTable, std::to_string(day));
}

}  // namespace

Result<DaySums> read_day_sums(Connection& db, std::uint32_t seed, std::int64_t from_day,
                              std::int64_t to_day) {
  const auto mark = read_mark(db, seed);
  if (!mark.ok()) return mark.error();
  DaySums out{*mark, {}};
  if (out.mark.seq == 0) return out;
  const auto parts = db.number("SELECT count(*) FROM usage_days");
  if (!parts) return unreadable_store(db, db.path());
  if (static_cast<std::uint64_t>(*parts) != out.mark.parts) {
    return damaged_store(db.path(), "rows of table usage_days are missing");
  }
  Statement rows;
  if (!rows.prepare(db,
                    "SELECT day, part, sums, sum FROM usage_days WHERE day >= ? AND day < ? "
                    "ORDER BY day, part")) {
    return unreadable_store(db, db.path());
  }
  rows.bind(1, from_day);
  rows.bind(2, to_day);
  while (rows.step()) {
    auto part = part_of(db, rows, seed);
    if (!part.ok()) return part.error();
    out.parts.push_back(std::move(*part));
  }
  if (rows.failed()) return unreadable_store(db, db.path());
  return out;
}

std::optional<Error> SqliteDays::write(const DayMark& mark, std::span<const StoredPart> parts) {
  const WriteGate::Turn turn(gate_, WriteGate::Who::kBackground);
  bool ok = db_.exec("BEGIN IMMEDIATE");
  for (const StoredPart& part : parts) ok = ok && put_part(part);
  if (ok && put_mark(mark) && db_.exec("COMMIT")) return std::nullopt;
  return undone();
}

std::optional<Error> SqliteDays::clear() {
  const WriteGate::Turn turn(gate_, WriteGate::Who::kBackground);
  if (db_.exec("BEGIN IMMEDIATE; DELETE FROM usage_mark; DELETE FROM usage_days; COMMIT")) {
    return std::nullopt;
  }
  return undone();
}

bool SqliteDays::put_part(const StoredPart& part) {
  Statement row;
  if (!row.prepare(db_, "INSERT OR REPLACE INTO usage_days VALUES (?, ?, ?, ?)")) return false;
  row.bind(1, part.day);
  row.bind(2, part.part);
  row.bind_blob(3, part.bytes);
  row.bind(4, sum_column(part_sum(seed_, part.day, part.part, part.bytes)));
  return row.run();
}

bool SqliteDays::put_mark(const DayMark& mark) {
  Statement row;
  if (!row.prepare(db_, "INSERT OR REPLACE INTO usage_mark VALUES (1, ?, ?, ?, ?, ?, ?)")) {
    return false;
  }
  row.bind(1, mark.seq);
  row.bind(2, mark.rows);
  row.bind(3, mark.parts);
  row.bind(4, mark.from_day);
  row.bind(5, mark.to_day);
  row.bind(6, sum_column(mark_sum(seed_, mark)));
  return row.run();
}

Error SqliteDays::undone() {
  Error error = db_.error("store.usage_days");
  db_.exec("ROLLBACK");
  return error;
}

}  // namespace subak

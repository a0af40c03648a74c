#include "server/store/postgres/day_sum_rows.h"

#include <string>
#include <utility>
#include <vector>

#include "server/store/file/row_sum.h"
#include "server/store/postgres/leadership.h"
#include "server/store/postgres/rows.h"

namespace subak::postgres {
namespace {

constexpr char kField[] = "store.usage_days";

// The number of sums of a day only grows, so a part is never removed alone.
constexpr char kWrite[] =
    ", p AS (INSERT INTO usage_days SELECT u.* FROM l, unnest($2::bigint[], $3::bigint[], "
    "$4::bytea[], $5::bigint[]) AS u ON CONFLICT (day, part) DO UPDATE SET sums = EXCLUDED.sums, "
    "sum = EXCLUDED.sum RETURNING 1) "
    "INSERT INTO usage_mark SELECT 1, $6, $7, $8, $9, $10, $11 FROM l ON CONFLICT (id) DO UPDATE "
    "SET seq = EXCLUDED.seq, rows = EXCLUDED.rows, parts = EXCLUDED.parts, "
    "from_day = EXCLUDED.from_day, to_day = EXCLUDED.to_day, sum = EXCLUDED.sum RETURNING id";
constexpr char kClear[] =
    ", p AS (DELETE FROM usage_days USING l), m AS (DELETE FROM usage_mark USING l) "
    "SELECT epoch FROM l";

// An empty mark: there are no sums.
Result<DayMark> read_mark(PgConnection& db, std::uint32_t seed) {
  const PgResult row = db.run("SELECT seq, rows, parts, from_day, to_day, sum FROM usage_mark");
  if (!row.ok()) return db.error(kField, row);
  if (row.rows() == 0) return DayMark();
  const DayMark mark{row.unsigned_number(0, 0), row.unsigned_number(0, 1),
                     row.unsigned_number(0, 2), row.number(0, 3), row.number(0, 4)};
  if (sum_of(row.number(0, 5)) != mark_sum(seed, mark)) return damaged("usage_mark", 1);
  return mark;
}

Result<codec::DaySumsPart> part_of(const PgResult& rows, int i, std::uint32_t seed) {
  const std::int64_t day = rows.number(i, 0);
  const std::string_view bytes = rows.bytes(i, 2);
  if (sum_of(rows.number(i, 3)) == part_sum(seed, day, rows.unsigned_number(i, 1), bytes)) {
    auto part = codec::decode_day_sums(bytes);
    if (part.ok() && part->day == day) return part;
  }
  return damaged("usage_days", static_cast<std::uint64_t>(day));
}

}  // namespace

Result<DaySums> read_day_sums(PgConnection& db, std::uint32_t seed, std::int64_t from_day,
                              std::int64_t to_day) {
  const auto mark = read_mark(db, seed);
  if (!mark.ok()) return mark.error();
  DaySums out{*mark, {}};
  if (out.mark.seq == 0) return out;
  const PgResult count = db.run("SELECT count(*) FROM usage_days");
  if (!count.ok()) return db.error(kField, count);
  if (count.unsigned_number(0, 0) != out.mark.parts) {
    return damaged("usage_days", out.mark.parts, "not the last: rows are missing");
  }
  const PgResult rows = db.run(
      "SELECT day, part, sums, sum FROM usage_days WHERE day >= $1 AND day < $2 ORDER BY day, part",
      Parameters().add(from_day).add(to_day));
  if (!rows.ok()) return db.error(kField, rows);
  for (int i = 0; i < rows.rows(); ++i) {
    auto part = part_of(rows, i, seed);
    if (!part.ok()) return part.error();
    out.parts.push_back(std::move(*part));
  }
  return out;
}

std::optional<Error> DaySumRows::write(const DayMark& mark, std::span<const StoredPart> parts) {
  std::vector<std::int64_t> days, numbers, sums;
  std::vector<std::string> bytes;
  for (const StoredPart& part : parts) {
    days.push_back(part.day);
    numbers.push_back(static_cast<std::int64_t>(part.part));
    bytes.push_back(part.bytes);
    sums.push_back(sum_column(part_sum(seed_, part.day, part.part, part.bytes)));
  }
  Parameters p;
  p.add(epoch_.load()).add(days).add(numbers).add_bytes(bytes).add(sums);
  p.add(mark.seq).add(mark.rows).add(mark.parts).add(mark.from_day).add(mark.to_day);
  p.add(sum_column(mark_sum(seed_, mark)));
  return run(kWrite, p);
}

std::optional<Error> DaySumRows::clear() {
  Parameters p;
  p.add(epoch_.load());
  return run(kClear, p);
}

std::optional<Error> DaySumRows::run(const char* rest, const Parameters& parameters) {
  if (!db_.is_open()) {
    if (auto error = db_.open(address_)) return error;
  }
  const PgResult row = db_.run((std::string(kIfLeading) + rest).c_str(), parameters);
  if (!row.ok()) return db_.error(kField, row);
  if (row.rows() > 0) return std::nullopt;
  return Error{ErrorCode::kPrecondition, kField, "another process leads by now", "want one leader"};
}

}  // namespace subak::postgres

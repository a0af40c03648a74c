#include "server/store/postgres/past_rows.h"

#include <algorithm>
#include <string>

#include "core/limits.h"
#include "server/codec/past_checkpoint_limits.h"
#include "server/store/file/row_sum.h"
#include "server/store/past/past_checkpoint.h"
#include "server/store/postgres/leadership.h"
#include "server/store/postgres/rows.h"

namespace subak::postgres {
namespace {

constexpr char kField[] = "store.past";

constexpr char kList[] =
    "SELECT p.seq, substring(p.bytes FOR $1::integer), f.sum, (SELECT sum(length(q.bytes))::bigint "
    "FROM past_checkpoints q WHERE q.seq = p.seq) FROM past_checkpoints p JOIN facts f "
    "ON f.seq = p.seq WHERE p.part = 0 ORDER BY p.seq";
// Each follows kIfLeading, and returns a row for the leader.
constexpr char kInsert[] = "INSERT INTO past_checkpoints SELECT $2, $3, $4 FROM l RETURNING part";
constexpr char kKeepOnly[] =
    ", d AS (DELETE FROM past_checkpoints USING l WHERE seq <> ALL ($2::bigint[])) "
    "SELECT epoch FROM l";
constexpr char kDrop[] =
    ", d AS (DELETE FROM past_checkpoints USING l WHERE seq = $2) SELECT epoch FROM l";

}  // namespace

Result<std::vector<StoredCheckpoint>> list_past_checkpoints(PgConnection& db, std::uint32_t seed) {
  const PgResult rows = db.run(kList, Parameters().add(std::uint64_t{kPastHeadBytes}));
  if (!rows.ok()) return db.error(kField, rows);
  std::vector<StoredCheckpoint> out;
  for (int i = 0; i < rows.rows(); ++i) {
    const std::uint64_t seq = rows.unsigned_number(i, 0);
    const auto head = read_past_head(rows.bytes(i, 1), seed);
    if (!head || head->seq != seq || head->anchor != sum_of(rows.number(i, 2))) continue;
    out.push_back({seq, head->facts, rows.unsigned_number(i, 3)});
  }
  return out;
}

std::optional<Error> read_past_checkpoint(PgConnection& db, std::uint32_t seed,
                                          std::uint32_t version, std::uint64_t seq,
                                          FactSink& sink) {
  std::string bytes;
  for (std::uint64_t part = 0; bytes.size() <= limits::kMaxPastCheckpointBytes; ++part) {
    const PgResult row = db.run("SELECT bytes FROM past_checkpoints WHERE seq = $1 AND part = $2",
                                Parameters().add(seq).add(part));
    if (!row.ok()) return db.error(kField, row);
    if (row.rows() == 0) break;
    bytes += row.bytes(0, 0);
  }
  const auto head = read_past_head(bytes, seed);
  if (head && head->seq == seq) return decode_past_checkpoint(bytes, seed, version, sink);
  return damaged("past_checkpoints", seq);
}

std::optional<Error> PastRows::open() { return db_.is_open() ? std::nullopt : db_.open(address_); }

std::optional<Error> PastRows::run(const char* rest, const Parameters& parameters) {
  if (auto error = open()) return error;
  const PgResult row = db_.run((std::string(kIfLeading) + rest).c_str(), parameters);
  if (!row.ok()) return db_.error(kField, row);
  if (row.rows() > 0) return std::nullopt;
  return Error{ErrorCode::kPrecondition, kField, "another process leads by now", "want one leader"};
}

Result<std::vector<StoredCheckpoint>> PastRows::list() {
  if (auto error = open()) return *error;
  return list_past_checkpoints(db_, seed_);
}

Result<std::uint32_t> PastRows::sum_of_fact(std::uint64_t seq) {
  if (auto error = open()) return *error;
  const PgResult row = db_.run("SELECT sum FROM facts WHERE seq = $1", Parameters().add(seq));
  if (!row.ok()) return db_.error(kField, row);
  if (row.rows() == 1) return sum_of(row.number(0, 0));
  return Error{ErrorCode::kNotFound, kField, std::to_string(seq), "want a fact of the store"};
}

std::optional<Error> PastRows::write(std::uint64_t seq, std::string_view bytes) {
  if (auto error = run(kDrop, Parameters().add(epoch_.load()).add(seq))) return error;
  constexpr std::size_t kPart = limits::kCheckpointPartBytes;
  for (std::size_t part = (bytes.size() + kPart - 1) / kPart; part-- > 0;) {
    Parameters p;
    p.add(epoch_.load()).add(seq).add(std::uint64_t{part});
    p.add_bytes(bytes.substr(part * kPart, kPart));
    if (auto error = run(kInsert, p)) return error;
  }
  return std::nullopt;
}

std::optional<Error> PastRows::keep_only(std::span<const StoredCheckpoint> kept) {
  std::vector<std::int64_t> stay;
  for (const StoredCheckpoint& one : kept) stay.push_back(static_cast<std::int64_t>(one.seq));
  return run(kKeepOnly, Parameters().add(epoch_.load()).add(stay));
}

}  // namespace subak::postgres

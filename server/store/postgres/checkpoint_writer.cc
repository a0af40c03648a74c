#include "server/store/postgres/checkpoint_writer.h"

#include <utility>

#include "core/limits.h"
#include "server/codec/kept_row.h"
#include "server/store/file/row_sum.h"
#include "server/store/postgres/leadership.h"
#include "server/store/postgres/rows.h"

namespace subak::postgres {
namespace {

// Each follows kIfLeading, and returns a row for the leader.
constexpr char kInsertPart[] = "INSERT INTO checkpoint SELECT $2, $3, $4 FROM l RETURNING part";
constexpr char kDropParts[] =
    ", d AS (DELETE FROM checkpoint USING l WHERE seq <> $2) SELECT epoch FROM l";
constexpr char kUseCheckpoint[] =
    "INSERT INTO meta SELECT 'checkpoint', $2, $3 FROM l "
    "ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value, sum = EXCLUDED.sum RETURNING key";
constexpr char kWriteCalibration[] =
    "INSERT INTO told SELECT 1, $2 FROM l "
    "ON CONFLICT (id) DO UPDATE SET bytes = EXCLUDED.bytes RETURNING id";
constexpr char kWriteActivity[] =
    "INSERT INTO activity SELECT $2, $3 FROM l "
    "ON CONFLICT (part) DO UPDATE SET bytes = EXCLUDED.bytes RETURNING part";
constexpr char kWriteNotices[] =
    "INSERT INTO notices SELECT 1, $2 FROM l "
    "ON CONFLICT (id) DO UPDATE SET bytes = EXCLUDED.bytes RETURNING id";

}  // namespace

std::optional<Error> CheckpointWriter::open() {
  return db_.is_open() ? std::nullopt : db_.open(address_);
}

std::optional<Error> CheckpointWriter::run_as_leader(const char* rest, Parameters& parameters) {
  if (auto error = open()) return error;
  const PgResult row = db_.run((std::string(kIfLeading) + rest).c_str(), parameters);
  if (!row.ok()) return db_.error("store.checkpoint", row);
  if (row.rows() > 0) return std::nullopt;
  return Error{ErrorCode::kPrecondition, "store.checkpoint", "another process leads by now",
               "want one leader"};
}

std::optional<Error> CheckpointWriter::write_part(const std::atomic<std::int64_t>& epoch,
                                                  std::uint64_t seq, std::uint64_t part,
                                                  std::string_view rows) {
  Parameters p;
  p.add(epoch.load()).add(seq).add(part).add_bytes(rows);
  return run_as_leader(kInsertPart, p);
}

Result<std::uint32_t> CheckpointWriter::anchor_of(std::uint64_t seq) {
  const PgResult row = db_.run("SELECT sum FROM facts WHERE seq = $1", Parameters().add(seq));
  if (!row.ok()) return db_.error("store.checkpoint", row);
  if (row.rows() == 0) return damaged("facts", seq, "missing");
  return sum_of(row.number(0, 0));
}

// Parts of a checkpoint that is not in use are never read. The next checkpoint drops those that a
// crash left.
std::optional<Error> CheckpointWriter::write(const StoreState& store, std::uint64_t seq,
                                             const PackedFacts& facts) {
  if (auto error = open()) return error;
  if (facts.needs() > store.version) {
    return Error{
        ErrorCode::kPrecondition, "store.checkpoint",
        "of fact version " + std::to_string(facts.needs()),
        "want facts of version " + std::to_string(store.version) + ", which the store has"};
  }
  const auto used = read_checkpoint(db_, store.seed);
  if (!used.ok()) return used.error();
  if (used->seq == seq) return std::nullopt;
  const auto drop_except = [&](std::uint64_t keep) {
    Parameters p;
    p.add(store.epoch.load()).add(keep);
    return run_as_leader(kDropParts, p);
  };
  if (auto error = drop_except(used->seq)) return error;
  Checkpoint mark{seq, facts.size(), 0, store.seed, 0};
  std::string part;
  PackedFacts::Cursor cursor(facts);
  std::uint64_t ord = 0;
  for (PackedFacts::Row row; cursor.next(row); ++ord) {
    append_kept(part, {row.time_ms, row.kind, row.body});
    mark.sum = fact_sum(mark.sum, ord, row.time_ms, row.kind, row.body);
    if (part.size() < limits::kCheckpointPartBytes) continue;
    if (auto error = write_part(store.epoch, seq, mark.parts++, part)) return error;
    part.clear();
  }
  if (!part.empty()) {
    if (auto error = write_part(store.epoch, seq, mark.parts++, part)) return error;
  }
  const auto anchor = anchor_of(seq);
  if (!anchor.ok()) return anchor.error();
  mark.anchor = *anchor;
  const std::string text = mark.text();
  Parameters use;
  use.add(store.epoch.load())
      .add(std::string_view(text))
      .add(sum_column(meta_sum("checkpoint", text)));
  if (auto error = run_as_leader(kUseCheckpoint, use)) return error;
  return drop_except(seq);
}

std::optional<Error> CheckpointWriter::write_calibration(const std::atomic<std::int64_t>& epoch,
                                                         std::string_view bytes) {
  Parameters p;
  p.add(epoch.load()).add_bytes(bytes);
  return run_as_leader(kWriteCalibration, p);
}

std::optional<Error> CheckpointWriter::write_activity(const std::atomic<std::int64_t>& epoch,
                                                      std::int64_t part, std::string_view bytes) {
  Parameters p;
  p.add(epoch.load()).add(part).add_bytes(bytes);
  return run_as_leader(kWriteActivity, p);
}

std::optional<Error> CheckpointWriter::write_notice_marks(const std::atomic<std::int64_t>& epoch,
                                                          std::string_view bytes) {
  Parameters p;
  p.add(epoch.load()).add_bytes(bytes);
  return run_as_leader(kWriteNotices, p);
}

}  // namespace subak::postgres

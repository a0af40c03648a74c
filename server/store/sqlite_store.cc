#include "server/store/sqlite_store.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "core/limits.h"
#include "server/codec/codec.h"
#include "server/store/copy.h"
#include "server/store/sqlite_impl.h"
#include "server/store/sqlite_reader.h"

namespace subak {

using Turn = WriteGate::Turn;

std::optional<Error> SqliteStore::commit(std::span<const Fact> facts) {
  assert(!facts.empty() && facts.front().seq == last_seq_ + 1);
  const Result<std::uint32_t> version = version_after(facts);
  if (!version.ok()) return version.error();
  const Turn turn(gate_, WriteGate::Who::kCommit);
  bool ok = begin_.run();
  for (const Fact& fact : facts) ok = ok && insert(fact);
  if (*version != version_) ok = ok && set_version(*version);
  if (ok && commit_.run()) {
    last_seq_ = facts.back().seq;
    version_ = *version;
    return std::nullopt;
  }
  const Error error = db_.error("store.commit");
  rollback_.run();
  return error;
}

// A kind that came with a newer version must not be there before a Finalized fact allows it: the
// previous program may be the next to open this store.
Result<std::uint32_t> SqliteStore::version_after(std::span<const Fact> facts) const {
  std::uint32_t version = version_;
  for (const Fact& fact : facts) {
    if (const auto* f = std::get_if<fact::Finalized>(&fact.body)) version = f->version;
    const std::uint32_t needed = codec::version_of_kind(codec::kind_of(fact.body));
    if (needed <= version && version <= known_version_) continue;
    return Error{ErrorCode::kPrecondition, "store.fact " + std::to_string(fact.seq),
                 std::string(fact_kind(fact)) + " of fact version " + std::to_string(needed),
                 "want facts of version " + std::to_string(version_) + ", which the store has"};
  }
  return version;
}

bool SqliteStore::set_version(std::uint32_t version) {
  const std::string sql =
      "UPDATE meta SET value = '" + std::to_string(version) + "' WHERE key = 'fact_version'";
  return db_.exec(sql.c_str());
}

bool SqliteStore::insert(const Fact& fact) {
  body_.clear();
  codec::encode(fact.body, body_);
  insert_fact_.bind(1, fact.seq);
  insert_fact_.bind(2, fact.time_ms);
  insert_fact_.bind(3, std::uint64_t{codec::kind_of(fact.body)});
  insert_fact_.bind_blob(4, body_);
  if (!insert_fact_.run()) return false;
  if (const auto* charged = std::get_if<fact::Charged>(&fact.body)) {
    return ledger_.insert(fact.seq, charged->row);
  }
  auto row = audit_row(fact.body);
  return !row || audit_.insert(fact, std::move(*row));
}

// In chunks, so that commits get in between. Rows of a checkpoint that is not the one in use are
// never read, so a crash on the way only leaves rows that the next checkpoint drops.
std::optional<Error> SqliteStore::write_checkpoint(std::uint64_t seq, const PackedFacts& facts) {
  if (seq == checkpoint_seq_) return std::nullopt;
  if (auto error = drop_checkpoints_except(checkpoint_seq_)) return error;
  PackedFacts::Cursor cursor(facts);
  for (std::size_t from = 0; from < facts.size(); from += limits::kCheckpointChunkFacts) {
    const std::size_t to = std::min(facts.size(), from + limits::kCheckpointChunkFacts);
    if (auto error = write_chunk(seq, cursor, from, to)) return error;
  }
  if (auto error = use_checkpoint(seq, facts.size())) return error;
  return drop_checkpoints_except(seq);
}

std::optional<Error> SqliteStore::write_chunk(std::uint64_t seq, PackedFacts::Cursor& facts,
                                              std::size_t from, std::size_t to) {
  const Turn turn(gate_, WriteGate::Who::kBackground);
  bool ok = begin_.run();
  PackedFacts::Row row;
  for (std::size_t i = from; i < to; ++i) ok = ok && facts.next(row) && insert_kept(seq, i, row);
  if (ok && commit_.run()) return std::nullopt;
  const Error error = db_.error("store.checkpoint");
  rollback_.run();
  return error;
}

bool SqliteStore::insert_kept(std::uint64_t seq, std::size_t ord, const PackedFacts::Row& row) {
  insert_kept_.bind(1, seq);
  insert_kept_.bind(2, static_cast<std::uint64_t>(ord));
  insert_kept_.bind(3, row.time_ms);
  insert_kept_.bind(4, std::uint64_t{row.kind});
  insert_kept_.bind_blob(5, row.body);
  return insert_kept_.run();
}

std::optional<Error> SqliteStore::use_checkpoint(std::uint64_t seq, std::size_t facts) {
  const Turn turn(gate_, WriteGate::Who::kBackground);
  assert(seq <= last_seq_);
  const std::string sql = "INSERT OR REPLACE INTO meta VALUES ('checkpoint_seq', '" +
                          std::to_string(seq) + "'), ('checkpoint_facts', '" +
                          std::to_string(facts) + "')";
  if (!db_.exec(sql.c_str())) return db_.error("store.checkpoint");
  checkpoint_seq_ = seq;
  return std::nullopt;
}

std::optional<Error> SqliteStore::drop_checkpoints_except(std::uint64_t seq) {
  const std::string keep = std::to_string(seq);
  const std::string first = "SELECT seq, ord FROM checkpoint WHERE seq < " + keep +
                            " UNION ALL SELECT seq, ord FROM checkpoint WHERE seq > " + keep +
                            " LIMIT 1";
  while (true) {
    const Turn turn(gate_, WriteGate::Who::kBackground);
    Statement find;
    if (!find.prepare(db_, first)) return db_.error("store.checkpoint");
    if (!find.step()) {
      if (find.failed()) return db_.error("store.checkpoint");
      return std::nullopt;
    }
    drop_kept_.bind(1, find.number(0));
    drop_kept_.bind(2, find.number(1) + static_cast<std::int64_t>(limits::kCheckpointChunkFacts));
    find.reset();
    if (!drop_kept_.run()) return db_.error("store.checkpoint");
  }
}

Result<std::string> SqliteStore::make_copy(const std::function<bool()>& wanted) {
  const std::string copy = path_ + kCopySuffix;
  if (auto error = copy_store(path_, copy, wanted)) return *error;
  return copy;
}

Result<std::unique_ptr<StoreReader>> SqliteStore::open_reader() {
  return SqliteReader::open(path_, known_version_);
}

}  // namespace subak

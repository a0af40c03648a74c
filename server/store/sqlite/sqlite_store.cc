#include "server/store/sqlite/sqlite_store.h"

#include <sqlite3.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "core/limits.h"
#include "server/codec/codec.h"
#include "server/store/days/sqlite_days.h"
#include "server/store/file/copy.h"
#include "server/store/file/row_sum.h"
#include "server/store/past/past_files.h"
#include "server/store/past/past_table.h"
#include "server/store/proof/checks.h"
#include "server/store/proof/sqlite_reader.h"
#include "server/store/sqlite/sqlite_impl.h"

namespace subak {

using Turn = WriteGate::Turn;

// The file has all data once the last connection has closed.
SqliteStore::~SqliteStore() { note_durable(); }

void SqliteStore::note_durable() const {
  if (opened_) lock_.note({seed_, head_.facts});
}

std::optional<Error> SqliteStore::commit(std::span<const Fact> facts) {
  assert(!facts.empty() && facts.front().seq == head_.facts + 1);
  if (auto error = lock_.check()) return error;
  const Turn turn(gate_, WriteGate::Who::kCommit);
  Head head = head_;
  std::uint32_t version = version_;
  facts_.begin();
  bool ok = transaction_.begin.run();
  const std::int64_t rows_before = sqlite3_total_changes64(db_.get());
  for (const Fact& fact : facts) ok = ok && facts_.insert(fact, known_version_, head, version);
  const std::uint64_t wanted = facts.size() + head.ledger - head_.ledger + head.audit - head_.audit;
  ok = ok && stored(wanted, rows_before);
  if (version != version_) ok = ok && set_version(version);
  if (ok && facts_.write(head) && transaction_.commit.run()) {
    note_durable();  // the earlier facts: they are no longer in the last transaction
    head_ = head;
    version_ = version;
    if (std::exchange(checking_.later, false)) checking_.full.start(path_);
    return std::nullopt;
  }
  const Error error = facts_.refused() ? *facts_.refused() : commit_error();
  transaction_.rollback.run();
  return error;
}

// A foreign trigger may drop a row, or change others.
bool SqliteStore::stored(std::uint64_t wanted, std::int64_t rows_before) {
  const std::int64_t rows = sqlite3_total_changes64(db_.get()) - rows_before;
  if (rows == static_cast<std::int64_t>(wanted)) return true;
  facts_.refuse({ErrorCode::kPrecondition, "store.commit",
                 std::to_string(rows) + " rows were changed, and " + std::to_string(wanted) +
                     " were to be stored",
                 "want no trigger on the tables of " + path_});
  return false;
}

Error SqliteStore::commit_error() const {
  const auto damaged = facts_.damaged_audit();
  return damaged ? damaged_row(path_, "audit", std::to_string(*damaged))
                 : db_.error("store.commit");
}

bool SqliteStore::set_version(std::uint32_t version) {
  return write_meta(db_, "fact_version", std::to_string(version));
}

// Writes in chunks, so that commits get in between. Rows of a checkpoint that is not in use are
// never read. So a crash only leaves rows that the next checkpoint drops.
std::optional<Error> SqliteStore::write_checkpoint(std::uint64_t seq, const PackedFacts& facts) {
  if (seq == checkpoint_.seq) return std::nullopt;
  if (auto error = check_needs(facts)) return error;
  if (auto error = drop_checkpoints_except(checkpoint_.seq)) return error;
  PackedFacts::Cursor cursor(facts);
  CheckpointMark mark{seq, facts.size(), seed_, 0};
  for (std::size_t from = 0; from < facts.size(); from += limits::kCheckpointChunkFacts) {
    const std::size_t to = std::min(facts.size(), from + limits::kCheckpointChunkFacts);
    if (auto error = write_chunk(seq, cursor, from, to, mark.sum)) return error;
  }
  const auto anchor = sum_of_fact(seq);
  if (!anchor.ok()) return anchor.error();
  mark.anchor = *anchor;
  if (auto error = use_checkpoint(mark)) return error;
  return drop_checkpoints_except(seq);
}

// An older program that may open this store must be able to read its checkpoint too.
std::optional<Error> SqliteStore::check_needs(const PackedFacts& facts) {
  const Turn turn(gate_, WriteGate::Who::kBackground);
  if (facts.needs() <= version_) return std::nullopt;
  return Error{ErrorCode::kPrecondition, "store.checkpoint",
               "of fact version " + std::to_string(facts.needs()),
               "want facts of version " + std::to_string(version_) + ", which the store has"};
}

std::optional<Error> SqliteStore::write_chunk(std::uint64_t seq, PackedFacts::Cursor& facts,
                                              std::size_t from, std::size_t to,
                                              std::uint32_t& sum) {
  const Turn turn(gate_, WriteGate::Who::kBackground);
  bool ok = transaction_.begin.run();
  PackedFacts::Row row;
  for (std::size_t i = from; i < to; ++i) {
    ok = ok && facts.next(row) && insert_kept(seq, i, row, sum);
  }
  if (ok && transaction_.commit.run()) {
    note_durable();
    return std::nullopt;
  }
  const Error error = db_.error("store.checkpoint");
  transaction_.rollback.run();
  return error;
}

bool SqliteStore::insert_kept(std::uint64_t seq, std::size_t ord, const PackedFacts::Row& row,
                              std::uint32_t& sum) {
  sum = fact_sum(sum, ord, row.time_ms, row.kind, row.body);
  checkpoint_.insert.bind(1, seq);
  checkpoint_.insert.bind(2, static_cast<std::uint64_t>(ord));
  checkpoint_.insert.bind(3, row.time_ms);
  checkpoint_.insert.bind(4, std::uint64_t{row.kind});
  checkpoint_.insert.bind_blob(5, row.body);
  checkpoint_.insert.bind(6, sum_column(sum));
  return checkpoint_.insert.run();
}

Result<std::uint32_t> SqliteStore::sum_of_fact(std::uint64_t seq) {
  const Turn turn(gate_, WriteGate::Who::kBackground);
  Statement row;
  if (!row.prepare(db_, "SELECT sum FROM facts WHERE seq = ?"))
    return db_.error("store.checkpoint");
  row.bind(1, seq);
  if (row.step()) return sum_of(row.number(0));
  if (row.failed()) return db_.error("store.checkpoint");
  return damaged_store(path_, "row " + std::to_string(seq) + " of table facts is missing");
}

std::optional<Error> SqliteStore::use_checkpoint(const CheckpointMark& mark) {
  const Turn turn(gate_, WriteGate::Who::kBackground);
  assert(mark.seq <= head_.facts);
  if (transaction_.begin.run() && write_checkpoint_mark(db_, mark) && transaction_.commit.run()) {
    note_durable();
    checkpoint_.seq = mark.seq;
    return std::nullopt;
  }
  const Error error = db_.error("store.checkpoint");
  transaction_.rollback.run();
  return error;
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
    checkpoint_.drop.bind(1, find.number(0));
    checkpoint_.drop.bind(
        2, find.number(1) + static_cast<std::int64_t>(limits::kCheckpointChunkFacts));
    find.reset();
    if (!checkpoint_.drop.run()) return db_.error("store.checkpoint");
    note_durable();
  }
}

std::optional<Error> SqliteStore::add_past_checkpoint(
    std::uint64_t seq, const std::function<const PackedFacts*()>& facts) {
  const MutexLock lock(checkpoint_.past);
  Connection db;
  if (!db.open(path_, OpenMode::kReadOnly)) return db.error("store.past");
  PastFiles files(db, seed_);
  return subak::add_past_checkpoint(files, seed_, seq, facts);
}

std::optional<Error> SqliteStore::add_day_sums(const std::function<bool()>& wanted) {
  auto reader = open_reader();
  if (!reader.ok()) return reader.error();
  SqliteDays days(db_, gate_, seed_);
  return subak::add_day_sums(**reader, days, wanted);
}

Result<std::string> SqliteStore::make_copy(const std::function<bool()>& wanted) {
  const std::string copy = path_ + kCopySuffix;
  if (auto error = copy_store(path_, copy, wanted)) return *error;
  return copy;
}

Result<std::unique_ptr<StoreReader>> SqliteStore::open_reader() {
  return SqliteReader::open(path_, known_version_, checking_.sound);
}

}  // namespace subak

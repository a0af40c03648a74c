// Reads and writes a store's data about itself: the rows of the table meta, and the one row of the
// table head, which each commit rewrites. These rows have their own checksums. Private to
// server/store. If a checksum is wrong, a function that reads returns an error for which
// says_damage() is true. Threads: those that may use the connection.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "server/store/file/connection.h"

namespace subak {

// Returns the value for `key` in the table meta; nullopt: there is no such row. An error: the row
// cannot be read, or its checksum is wrong. It begins no transaction, so two reads may see two
// different commits.
Result<std::optional<std::string>> read_meta(Connection& db, std::string_view key);
// Returns the checksum of a row of the table meta.
std::uint32_t meta_sum(std::string_view key, std::string_view value);
// Adds or replaces a row of the table meta. It writes in the transaction of the connection if one
// was begun, else in a transaction of its own.
// False: the call failed, see db.error().
bool write_meta(Connection& db, std::string_view key, std::string_view value);

// Returns the uuid of the store in a file; empty: it has none. A copy of a store has the same uuid
// as the store. It opens the file only for reading. An error: the file cannot be read, or is
// damaged.
Result<std::string> read_uuid(const std::string& path);
// Returns the seed: the start of the checksums of a store's rows. The seed is the CRC32C of the
// uuid, so a row from another store has a wrong checksum. A missing uuid is damage.
Result<std::uint32_t> read_seed(Connection& db);

// How many rows a store has, as the last commit wrote it. A store without a head is damaged. If the
// store has more rows than the head says, a write of the head was lost.
struct Head {
  // The number of the last fact; 0: the store is empty.
  std::uint64_t facts = 0;
  // The chained checksum of the row of the last fact; in an empty store, the seed.
  std::uint32_t facts_sum = 0;
  // The number of rows of the ledger.
  std::uint64_t ledger = 0;
  // The number of rows of the audit log.
  std::uint64_t audit = 0;
};
// Reads the head. `seed`: the result of read_seed().
Result<Head> read_head(Connection& db, std::uint32_t seed);

// Writes the head in each commit, by a prepared statement.
class HeadWriter {
 public:
  // Prepares the statement. `db` must outlive the writer. False: the call failed, see db.error().
  bool prepare(Connection& db, std::uint32_t seed);
  // Replaces the row of the head, in the transaction of the connection. False: the call failed, see
  // Connection::error().
  bool write(const Head& head);

 private:
  Statement replace_;
  std::uint32_t seed_ = 0;
};

// Identifies the checkpoint in use. The table of checkpoint rows may also have rows of other
// checkpoints, which do not count.
struct CheckpointMark {
  // The last fact of the checkpoint's state; 0: there is no checkpoint.
  std::uint64_t seq = 0;
  // The number of rows that the checkpoint has.
  std::uint64_t facts = 0;
  // The chained checksum of the checkpoint's last row.
  std::uint32_t sum = 0;
  // The checksum of the fact `seq`. The checksum of the next fact continues from it.
  std::uint32_t anchor = 0;
};
// Reads the mark. If there is no checkpoint, CheckpointMark::seq is 0 and the anchor is `seed`. A
// number that is missing counts as 0, so the mark then does not match the rows.
Result<CheckpointMark> read_checkpoint_mark(Connection& db, std::uint32_t seed);
// Writes the mark as four rows of the table meta, so call it within a transaction. False: the call
// failed, see db.error().
bool write_checkpoint_mark(Connection& db, const CheckpointMark& mark);

}  // namespace subak

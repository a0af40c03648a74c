// A store's data about itself: the rows of the table `meta`, and the row of `head`, which each
// commit rewrites. Both have their own checksums. Private to server/store.
// Threads: those of the connection. Readers return says_damage() errors for wrong checksums.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "server/store/file/connection.h"

namespace subak {

// Returns a value of `meta`; nullopt: there is no such row. An error: the row is unreadable, or its
// checksum is wrong.
// It begins no transaction, so a second read may see a later commit.
Result<std::optional<std::string>> read_meta(Connection& db, std::string_view key);
// Returns the checksum of a row of `meta`.
std::uint32_t meta_sum(std::string_view key, std::string_view value);
// Adds or replaces a row of `meta`. False: it failed, see db.error().
// It writes in the transaction of the connection, if there is one, or else in its own.
bool write_meta(Connection& db, std::string_view key, std::string_view value);

// Returns the uuid of the store in a file; empty: it has none. A copy of a store has the same uuid.
// An error: the file is unreadable or damaged.
// It opens the file for reading.
Result<std::string> read_uuid(const std::string& path);
// Returns the start of the checksums of a store's rows.
// That is the CRC32C of the uuid. So a row of another store has a wrong checksum. A missing uuid is
// damage.
Result<std::uint32_t> read_seed(Connection& db);

// The extent of a store, as its last commit wrote it.
// A store without a head is damaged. If the store has rows beyond the head, a
// write of the head was lost.
struct Head {
  // The number of the last fact; 0: the store is empty.
  std::uint64_t facts = 0;
  // The chained checksum of that fact's row; in an empty store, the seed.
  std::uint32_t facts_sum = 0;
  // The number of rows of the ledger.
  std::uint64_t ledger = 0;
  // The number of rows of the audit log.
  std::uint64_t audit = 0;
};
// Reads the head. `seed`: that of read_seed().
Result<Head> read_head(Connection& db, std::uint32_t seed);

// Writes the head in each commit, by a prepared statement.
class HeadWriter {
 public:
  // Prepares the statement. `db` outlives the writer. False: it failed, see db.error().
  bool prepare(Connection& db, std::uint32_t seed);
  // Replaces the row, in the transaction of the connection. False:
  // it failed, see Connection::error().
  bool write(const Head& head);

 private:
  Statement replace_;
  std::uint32_t seed_ = 0;
};

// The checkpoint in use.
// The table may also have rows of other checkpoints, which do not count.
struct CheckpointMark {
  // The last fact of the checkpoint's state; 0: there is no checkpoint.
  std::uint64_t seq = 0;
  // The number of the checkpoint's rows.
  std::uint64_t facts = 0;
  // The chained checksum of the checkpoint's last row.
  std::uint32_t sum = 0;
  // The checksum of fact `seq`, from which the later facts continue.
  std::uint32_t anchor = 0;
};
// Reads the mark. If there is no checkpoint, seq is 0 and the anchor is `seed`. A missing number
// counts as 0, and then does not match the rows.
Result<CheckpointMark> read_checkpoint_mark(Connection& db, std::uint32_t seed);
// Writes the mark as four rows of `meta`, so call it within a transaction. False:
// it failed, see db.error().
bool write_checkpoint_mark(Connection& db, const CheckpointMark& mark);

}  // namespace subak

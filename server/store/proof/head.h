// A store's data about itself: the rows of `meta`, and `head`, which each commit rewrites. Both
// carry checksums of their own. Private to server/store.
// Threads: those of the connection. Readers return says_damage() errors for wrong checksums.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "server/store/file/connection.h"

namespace subak {

// Returns a value of `meta`; nullopt: there is no such row. An error: it is unreadable, or its
// checksum is wrong.
// Without a snapshot of its own: two reads may see two commits.
Result<std::optional<std::string>> read_meta(Connection& db, std::string_view key);
// Returns the checksum of a row of `meta`.
std::uint32_t meta_sum(std::string_view key, std::string_view value);
// Adds or replaces a row. False: ask db.error().
// In the transaction of the connection, or one of its own.
bool write_meta(Connection& db, std::string_view key, std::string_view value);

// Returns the uuid of the store in a file; a copy of the store gets the same. An error: it is
// unreadable or damaged.
// Opens the file for reading. Empty: the store has none.
Result<std::string> read_uuid(const std::string& path);
// Returns the start of the checksums of a store's rows.
// It is the CRC32C of the uuid. A row of another store so has a wrong checksum. A missing uuid is
// damage.
Result<std::uint32_t> read_seed(Connection& db);

// The extent of a store, as its last commit wrote it.
// A store without a head is damaged. One whose rows go beyond the head has lost a write.
struct Head {
  // The number of the last fact; 0: the store is empty.
  std::uint64_t facts = 0;
  // The chained checksum of its row; of an empty store the seed.
  std::uint32_t facts_sum = 0;
  // Rows of the ledger.
  std::uint64_t ledger = 0;
  // Rows of the audit log.
  std::uint64_t audit = 0;
};
// `seed`: of read_seed().
Result<Head> read_head(Connection& db, std::uint32_t seed);

// A prepared statement: write() runs in each commit.
class HeadWriter {
 public:
  // `db` outlives the writer. False: ask db.error().
  bool prepare(Connection& db, std::uint32_t seed);
  // Replaces the one row, in the transaction of the connection. False: ask the connection.
  bool write(const Head& head);

 private:
  Statement replace_;
  std::uint32_t seed_ = 0;
};

// The checkpoint in use.
// Rows of other checkpoints may lie in the table; they do not count.
struct CheckpointMark {
  // The fact that it was made after; 0: there is none.
  std::uint64_t seq = 0;
  // Its rows.
  std::uint64_t facts = 0;
  // The chained checksum of its last row.
  std::uint32_t sum = 0;
  // The checksum of fact `seq`, from which the later facts continue.
  std::uint32_t anchor = 0;
};
// Without a checkpoint: seq 0 and the anchor `seed`. A number that is missing reads as 0 and then
// fails against the rows.
Result<CheckpointMark> read_checkpoint_mark(Connection& db, std::uint32_t seed);
// Four rows of `meta`: call it within a transaction. False: ask db.error().
bool write_checkpoint_mark(Connection& db, const CheckpointMark& mark);

}  // namespace subak

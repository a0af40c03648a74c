// Reads and writes past checkpoints (server/store/past) in the database. Private to the PostgreSQL
// store. A past checkpoint is in parts of limits::kCheckpointPartBytes. Part 0 is written last, so
// a past checkpoint without part 0 is incomplete and is never read.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "server/store/past/past_table.h"
#include "server/store/postgres/database/address.h"
#include "server/store/postgres/database/pg_connection.h"

namespace subak::postgres {

// Returns the complete past checkpoints that belong to the facts, the oldest first. `seed`: the
// start of the store's checksums. Threads: those that may use the connection.
Result<std::vector<StoredCheckpoint>> list_past_checkpoints(PgConnection& db, std::uint32_t seed);

// As StoreReader::read_past_checkpoint(). `version`: the newest fact version that this program
// knows.
std::optional<Error> read_past_checkpoint(PgConnection& db, std::uint32_t seed,
                                          std::uint32_t version, std::uint64_t seq, FactSink& sink);

// Writes past checkpoints on a separate connection. A statement has an effect only while this
// process leads, and is refused otherwise. The address and the epoch must outlive the object.
// Threads: one at a time.
class PastRows final : public PastTable {
 public:
  PastRows(const Address& address, const std::atomic<std::int64_t>& epoch, std::uint32_t seed)
      : address_(address), epoch_(epoch), seed_(seed) {}
  Result<std::vector<StoredCheckpoint>> list() override;
  Result<std::uint32_t> sum_of_fact(std::uint64_t seq) override;
  std::optional<Error> write(std::uint64_t seq, std::string_view bytes) override;
  std::optional<Error> keep_only(std::span<const StoredCheckpoint> kept) override;

 private:
  // Connects, unless it is connected.
  std::optional<Error> open();
  // Runs the statement that consists of kIfLeading and `rest`.
  std::optional<Error> run(const char* rest, const Parameters& parameters);

  const Address& address_;
  const std::atomic<std::int64_t>& epoch_;
  const std::uint32_t seed_;
  PgConnection db_;
};

}  // namespace subak::postgres

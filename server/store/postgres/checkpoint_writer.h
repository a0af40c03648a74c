// Writes checkpoints and the calibration of starts into the database. It has its own connection, so
// commits go on meanwhile. Private to the PostgreSQL store.
//
// A statement has an effect only while this process leads: it does nothing once another process has
// raised the epoch. A checkpoint is written in parts. No process reads these parts before the row
// that names the checkpoint exists. Threads: one, which need not be that of the commits.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/error.h"
#include "server/codec/packed_facts.h"
#include "server/store/postgres/database/address.h"
#include "server/store/postgres/database/pg_connection.h"

namespace subak::postgres {

// The properties of the store that a checkpoint must match. The committing thread may change epoch
// and version meanwhile. `seed` does not change.
struct StoreState {
  // The epoch in which this process leads.
  const std::atomic<std::int64_t>& epoch;
  // The fact version of the store.
  const std::atomic<std::uint32_t>& version;
  // The start of the checksums.
  std::uint32_t seed = 0;
};

class CheckpointWriter {
 public:
  // `address` outlives the writer. The writer connects at the first write, and
  // again after a failure.
  explicit CheckpointWriter(const Address& address) : address_(address) {}

  // Writes the state after fact `seq`, which is durable, and drops every other checkpoint. Does
  // nothing if this checkpoint is in use already. It fails if the database fails, if another
  // process leads, or if a fact has a newer version than the store.
  // After an error, the checkpoint in use stays, and the parts written so far are never read.
  std::optional<Error> write(const StoreState& store, std::uint64_t seq, const PackedFacts& facts);
  // Replaces the calibration of starts.
  // Fails with kPrecondition, field "store.checkpoint", if another process leads now.
  std::optional<Error> write_calibration(const std::atomic<std::int64_t>& epoch,
                                         std::string_view bytes);

 private:
  // Connects unless it is connected.
  std::optional<Error> open();
  // Runs the statement of kIfLeading and `rest`. If it returns no row, another process leads, and
  // this is an error.
  std::optional<Error> run_as_leader(const char* rest, Parameters& parameters);
  // Writes one part of the rows of append_kept(). A part has at most limits::kCheckpointPartBytes
  // and one more row.
  std::optional<Error> write_part(const std::atomic<std::int64_t>& epoch, std::uint64_t seq,
                                  std::uint64_t part, std::string_view rows);
  // Returns the checksum of fact `seq`, which identifies the history of the checkpoint.
  Result<std::uint32_t> anchor_of(std::uint64_t seq);

  // The database to which the first write connects.
  const Address& address_;
  PgConnection db_;
};

}  // namespace subak::postgres

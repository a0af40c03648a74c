// Writes checkpoints and the calibration of starts into the database, beside the commits: it has a
// connection of its own. Private to the PostgreSQL store.
//
// Every statement counts only for the leader: it does nothing once another process has raised the
// epoch. A checkpoint is written in parts, which no process reads before the row that names it is
// there. Threads: one, which need not be that of the commits.
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

// What a checkpoint must fit to. The committing thread may change epoch and version meanwhile.
// `seed` does not change.
struct StoreState {
  // The epoch of this process's lead.
  const std::atomic<std::int64_t>& epoch;
  // The version of the facts that the store has.
  const std::atomic<std::uint32_t>& version;
  // The start of the checksums.
  std::uint32_t seed = 0;
};

class CheckpointWriter {
 public:
  // The address outlives the writer. It connects at the first write, and again after a failure.
  explicit CheckpointWriter(const Address& address) : address_(address) {}

  // Writes the state after fact `seq`, and drops every other checkpoint. Does nothing if this one
  // is in use. Errors: the database, another leader, facts of a newer version than the store's.
  // `seq`: a fact that is durable. After an error the checkpoint in use stays, and parts that were
  // written are never read.
  std::optional<Error> write(const StoreState& store, std::uint64_t seq, const PackedFacts& facts);
  // Replaces the calibration of starts.
  // kPrecondition, field "store.checkpoint", if another process leads by now.
  std::optional<Error> write_calibration(const std::atomic<std::int64_t>& epoch,
                                         std::string_view bytes);

 private:
  // Connects unless it is connected.
  std::optional<Error> open();
  // Runs kIfLeading and `rest`. An error if it returns no row: then another process leads.
  std::optional<Error> run_as_leader(const char* rest, Parameters& parameters);
  // Writes one part: rows of append_kept(), limits::kCheckpointPartBytes and one row at most.
  std::optional<Error> write_part(const std::atomic<std::int64_t>& epoch, std::uint64_t seq,
                                  std::uint64_t part, std::string_view rows);
  // The checksum of fact `seq`, to which the checkpoint is tied.
  Result<std::uint32_t> anchor_of(std::uint64_t seq);

  // It is connected to at the first write.
  const Address& address_;
  PgConnection db_;
};

}  // namespace subak::postgres

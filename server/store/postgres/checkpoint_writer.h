// Writes checkpoints, the data for start-time calibration, the sums of activity and the marks of
// notices into the database. The writer has a separate connection, so commits can run at the same
// time. Private to the PostgreSQL store.
//
// A checkpoint is a list of facts that rebuild the state. A statement has an effect only while this
// process leads. It does nothing if another process has raised the epoch, the number of the present
// leadership. A checkpoint is written in parts. No process reads these parts until the row that
// names the checkpoint exists. Threads: one at a time, which need not be the thread of the commits.
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

// The properties of the store that a checkpoint must match. The committing thread may change
// `epoch` and `version` during a write. `seed` never changes.
struct StoreState {
  // The epoch in which this process leads.
  const std::atomic<std::int64_t>& epoch;
  // The fact version of the store.
  const std::atomic<std::uint32_t>& version;
  // The start of the checksums.
  std::uint32_t seed = 0;
};

// The writer of one store.
class CheckpointWriter {
 public:
  // `address` must outlive the writer. The writer connects at the first write, and again after a
  // failure.
  explicit CheckpointWriter(const Address& address) : address_(address) {}

  // Writes a checkpoint of the state after the fact `seq`, which must be durable, and drops every
  // other checkpoint. Does nothing if this checkpoint is in use already. It fails if the database
  // fails, if another process leads, or if a fact has a newer version than the store. After an
  // error, the checkpoint in use stays, and the parts of the new one are never read.
  std::optional<Error> write(const StoreState& store, std::uint64_t seq, const PackedFacts& facts);
  // Replaces the data for start-time calibration. If another process leads now, it fails with
  // kPrecondition and the field "store.checkpoint".
  std::optional<Error> write_calibration(const std::atomic<std::int64_t>& epoch,
                                         std::string_view bytes);
  // Replaces one part of the sums of activity. It fails like write_calibration().
  std::optional<Error> write_activity(const std::atomic<std::int64_t>& epoch, std::int64_t part,
                                      std::string_view bytes);
  // Replaces the marks of notices. It fails like write_calibration().
  std::optional<Error> write_notice_marks(const std::atomic<std::int64_t>& epoch,
                                          std::string_view bytes);

 private:
  // Connects, unless it is connected.
  std::optional<Error> open();
  // Runs the statement that consists of kIfLeading and `rest`. If the statement returns no row,
  // another process leads, and the result is that error.
  std::optional<Error> run_as_leader(const char* rest, Parameters& parameters);
  // Writes one part of the checkpoint. `rows`: rows that append_kept() made, of at most
  // limits::kCheckpointPartBytes and one more row.
  std::optional<Error> write_part(const std::atomic<std::int64_t>& epoch, std::uint64_t seq,
                                  std::uint64_t part, std::string_view rows);
  // Returns the checksum of the fact `seq`. This checksum identifies the history to which the
  // checkpoint belongs.
  Result<std::uint32_t> anchor_of(std::uint64_t seq);

  // The database to which the first write connects.
  const Address& address_;
  PgConnection db_;
};

}  // namespace subak::postgres

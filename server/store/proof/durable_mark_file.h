// Reads and writes a small file of one replica (a process that shares a database with others),
// which has the last durable fact that the replica knows. By this file, the replica detects even
// after a restart that a shared database is a copy without that fact. Threads: any; only one thread
// at a time writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"
#include "model/fact.h"

namespace subak {

// The fact in the file. The replica compares it with the fact of the same number in the database.
struct MarkedFact {
  // The number of the fact; 0: no fact is known.
  std::uint64_t seq = 0;
  // When the fact was made.
  TimeMs time_ms = 0;
  // The checksum from sum_of_marked().
  std::uint32_t sum = 0;
  // The last fact, not after this one, that stores an acceptance of data loss (LossAccepted); 0:
  // there is none.
  std::uint64_t accepted = 0;
  friend bool operator==(const MarkedFact&, const MarkedFact&) = default;
};

// Returns the checksum of the fact's number, time, kind and body. So another fact with the same
// number has another checksum. If the fact cannot be encoded, the checksum does not include the
// body.
std::uint32_t sum_of_marked(const Fact& fact);

// Writes the file, which is durable when this returns. After an error, the old file stays. The
// folder must exist. The errors are those of write_whole_file(). The call blocks for two syncs.
std::optional<Error> write_durable_mark_file(const std::string& path, const MarkedFact& known);
// Reads the file. If there is no file, MarkedFact::seq is 0. An error: the file cannot be read, or
// it is not exactly what write_durable_mark_file() writes; even an added line is an error. People
// can read the text of the file. An operator may remove the file; the replica then accepts the
// database as it is.
Result<MarkedFact> read_durable_mark_file(const std::string& path);

}  // namespace subak

// A small file of one replica, with the last durable sequence that the replica knows in a shared
// database. By it, also after a restart, the replica detects that the database is a copy without
// this fact. Threads: any; one writer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"
#include "model/fact.h"

namespace subak {

// The marked fact. The replica compares it with the database's fact `seq`.
struct MarkedFact {
  // The number of the fact; 0: no fact is known.
  std::uint64_t seq = 0;
  // When the fact was made.
  TimeMs time_ms = 0;
  // The checksum from sum_of_marked().
  std::uint32_t sum = 0;
  // The last fact, up to this one, that records a data loss (LossAccepted); 0: there is none.
  std::uint64_t accepted = 0;
  friend bool operator==(const MarkedFact&, const MarkedFact&) = default;
};

// Returns the checksum of number, time, kind and body. Another fact with the same number has
// another checksum.
// If the fact cannot be encoded, the checksum is that of number, time and kind.
std::uint32_t sum_of_marked(const Fact& fact);

// Writes the file, which is durable on return. After an error the old file stays.
// The folder must exist.
// Errors are those of write_whole_file(). The call blocks for two syncs.
std::optional<Error> write_durable_mark_file(const std::string& path, const MarkedFact& known);
// Reads the file. If there is no file, the result has no fact. An error: the checksum is wrong, or
// the file is unreadable.
// The file is the text of text_of(), which people can read. Any other byte, also an added line, is
// an error. An operator may remove the file. The replica then accepts the database as it is.
Result<MarkedFact> read_durable_mark_file(const std::string& path);

}  // namespace subak

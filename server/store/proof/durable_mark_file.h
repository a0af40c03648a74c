// A small file of a replica's own: its last durable sequence in a shared database. With it the
// replica recognizes a copy of the database that lacks this fact, also after a restart. Threads:
// any; one writer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"
#include "model/fact.h"

namespace subak {

// Compared with what the database has under `seq`.
struct MarkedFact {
  // The number of the fact; 0: none is known.
  std::uint64_t seq = 0;
  // When it was made.
  TimeMs time_ms = 0;
  // By sum_of_marked().
  std::uint32_t sum = 0;
  // Of the facts up to this one, the last that records a data loss (LossAccepted); 0: none does.
  std::uint64_t accepted = 0;
  friend bool operator==(const MarkedFact&, const MarkedFact&) = default;
};

// Returns the checksum of number, time, kind and body: another fact under the same number has
// another one.
// A fact that cannot be encoded has a sum by number, time and kind alone.
std::uint32_t sum_of_marked(const Fact& fact);

// Writes the file; durable on return. The old file is replaced as a whole, or stays. Its folder
// must exist.
// Errors as of write_whole_file(). Blocks for two syncs.
std::optional<Error> write_durable_mark_file(const std::string& path, const MarkedFact& known);
// Reads the file. Without a file: no fact. An error: its checksum is wrong, or it is unreadable.
// The text is that of text_of(), readable for people. Any other byte, also an added line, is an
// error. An operator may remove the file: the replica then accepts what the database has.
Result<MarkedFact> read_durable_mark_file(const std::string& path);

}  // namespace subak

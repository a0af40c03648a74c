// One fact of a checkpoint in a row of bytes. The PostgreSQL store and past checkpoints keep many
// such rows in one part. Threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/quantity.h"

namespace subak {

// The bytes are the time (8 bytes), the kind (4) and the length of the body (4), the lowest byte
// first, and then the body.
struct KeptRow {
  // The time of the fact.
  TimeMs time_ms = 0;
  // The result of codec::kind_of().
  std::uint32_t kind = 0;
  // The body from codec::encode().
  std::string_view body;
};

// Appends one row to the part. Its body may have at most limits::kMaxFactBytes.
void append_kept(std::string& part, const KeptRow& row);
// Removes the first row from `part` and returns the row. nullopt: that row is incomplete, or `part`
// is empty. The body of the row points into the bytes of `part`.
std::optional<KeptRow> next_kept(std::string_view& part);

// Appends the `bytes` lowest bytes of a number, the lowest first.
void append_number(std::string& out, std::uint64_t number, int bytes);
// Returns the number of `size` bytes from `at` on, the lowest byte first. `bytes` must be long
// enough.
std::uint64_t number_at(std::string_view bytes, std::size_t at, int size);

}  // namespace subak

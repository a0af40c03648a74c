// Reads a moment that a user names (`--at`), and finds the last fact up to this moment.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "core/error.h"
#include "core/quantity.h"
#include "server/runtime/ports.h"

namespace subak {

// A moment given as a time in ms since 1970, UTC: the state after the last fact that was made at or
// before this time.
struct MomentTime {
  TimeMs time_ms = 0;
  friend bool operator==(const MomentTime&, const MomentTime&) = default;
};
// The number of a fact, which means the state after this fact, or a time.
using Moment = std::variant<std::uint64_t, MomentTime>;

// Reads "42" as the number of a fact, and "2026-11-30T16:00:00Z" as a time (parse_time()). `field`:
// the name of the input for errors. Threads: any.
Result<Moment> read_moment(std::string_view text, const std::string& field);

// Returns the number of the last fact of `moment`. `last`: the store's last fact that may be
// shown. It fails with kInvalid, and names `field`:
// - if the store has no fact yet;
// - if the moment is before the store's first fact, or is a fact after `last`.
// Other errors are those of the reader. O(log(last)) reads of one fact. Threads: as the reader.
Result<std::uint64_t> seq_of_moment(StoreReader& reader, const Moment& moment, std::uint64_t last,
                                    const std::string& field);

}  // namespace subak

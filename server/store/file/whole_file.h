// Writes files beside a store as a whole: the file is replaced by way of PATH.new, or unchanged.
// Durable on return. The folder exists. Threads: any; one writer of a path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"

namespace subak {

// Writes the file.
// The new file has the rights that the umask leaves. kPrecondition, with the file: it cannot be
// written, synced or replaced. PATH.new may then remain; the next write replaces it.
std::optional<Error> write_whole_file(const std::string& path, std::string_view bytes);

// A file with a checksum: a line that says what it is, the checksum, the bytes.
struct SummedKind {
  std::string_view first_line;
  std::size_t most_bytes = 0;  // more are neither written nor read
};
// `seed`: identifies the store that the file belongs to.
// The checksum is RowSum(seed) of the bytes, four bytes, the lowest first.
std::optional<Error> write_summed_file(const std::string& path, const SummedKind& kind,
                                       std::uint32_t seed, std::string_view bytes);
// Reads the file; empty: there is none. An error: it was written with another seed, is damaged or
// unreadable.
// A file that is larger than allowed is refused unread. So is one with another first line: an older
// form needs a kind of its own.
Result<std::string> read_summed_file(const std::string& path, const SummedKind& kind,
                                     std::uint32_t seed);

}  // namespace subak

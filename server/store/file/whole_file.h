// Writes files beside a store atomically: by way of PATH.new, the file is replaced completely, or
// stays unchanged. The file is durable on return. Its folder must exist. Threads: any; one writer
// for a path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"

namespace subak {

// Writes the file.
// The new file has the rights that the umask leaves. If the file cannot be written, synced or
// replaced, the error is kPrecondition and names the file. PATH.new may then remain; the next write
// replaces it.
std::optional<Error> write_whole_file(const std::string& path, std::string_view bytes);

// A kind of file with a checksum. The file has a first line that names the kind, then the checksum,
// then the bytes.
struct SummedKind {
  std::string_view first_line;
  std::size_t most_bytes = 0;  // larger files are neither written nor read
};
// Writes the file. `seed`: identifies the store to which the file belongs.
// The checksum is RowSum(seed) of the bytes. It has four bytes, the lowest first.
std::optional<Error> write_summed_file(const std::string& path, const SummedKind& kind,
                                       std::uint32_t seed, std::string_view bytes);
// Reads the file; empty: there is none. An error: the file was written with another seed, is
// damaged or unreadable.
// It refuses a file that is too large, and a file with another first line. So an older form of the
// file needs its own SummedKind.
Result<std::string> read_summed_file(const std::string& path, const SummedKind& kind,
                                     std::uint32_t seed);

}  // namespace subak

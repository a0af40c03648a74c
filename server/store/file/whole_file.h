// Writes files beside a store atomically. The new content goes into PATH.new, which then replaces
// the file, so the file has either the old content or the new one. The file is durable when a write
// returns. The folder of the file must exist.
// Threads: any; only one thread at a time writes a path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"

namespace subak {

// Writes the file, with the rights that the umask leaves. If the file cannot be written, synced or
// replaced, the error is kPrecondition and names the file. After an error PATH.new may remain; the
// next write replaces it.
std::optional<Error> write_whole_file(const std::string& path, std::string_view bytes);

// A kind of file with a checksum. Such a file has a first line that names the kind, then the
// checksum, then the bytes.
struct SummedKind {
  std::string_view first_line;
  std::size_t most_bytes = 0;  // files with more bytes are refused
};
// Writes a file with a checksum.
// `seed`: identifies the store to which the file belongs. The checksum is RowSum(seed) of the
// bytes. The checksum has four bytes, the lowest first.
std::optional<Error> write_summed_file(const std::string& path, const SummedKind& kind,
                                       std::uint32_t seed, std::string_view bytes);
// Reads a file with a checksum and returns its bytes; empty: there is no file. An error: the file
// was written with another seed, is damaged, is too large, has another first line, or cannot be
// read. To read an older form of the file, use a SummedKind with the first line of that form.
Result<std::string> read_summed_file(const std::string& path, const SummedKind& kind,
                                     std::uint32_t seed);

}  // namespace subak

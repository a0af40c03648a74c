// Files beside a store that are written as a whole: replaced by way of PATH.new, or as they were. Durable on return. Their
// folder exists. Threads: any; one writer of a path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"

namespace subak {

std::optional<Error> write_whole_file(const std::string& path, std::string_view bytes);

// One whose bytes are proved: a line that says what it is, a sum, the bytes.
struct SummedKind {
  std::string_view first_line;
  std::size_t most_bytes = 0;  // more are neither written nor read
};
// `seed`: of whose file it is.
std::optional<Error> write_summed_file(const std::string& path, const SummedKind& kind,
                                       std::uint32_t seed, std::string_view bytes);
// Empty: there is none. An error: it is not what was written with that seed, or cannot be read.
Result<std::string> read_summed_file(const std::string& path, const SummedKind& kind,
                                     std::uint32_t seed);

}  // namespace subak

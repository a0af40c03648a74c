// The file beside a store in which told starts are kept (server/store/whole_file.h). It may be lost.
// Threads: any; one writer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"

namespace subak {

inline constexpr char kToldSuffix[] = ".told";

// `seed`: of the store (server/store/head.h). The file there is replaced whole, or stays.
std::optional<Error> write_told_file(const std::string& path, std::uint32_t seed,
                                     std::string_view bytes);
// Empty: there is none. An error: it is not what was written for that store, or cannot be read.
Result<std::string> read_told_file(const std::string& path, std::uint32_t seed);

}  // namespace subak

// Reads and writes the sums of activity (how busy the held GPUs were) in files beside a SQLite
// store, in the form of server/store/file/whole_file.h. The sums have several parts (those of jobs,
// and those of each UTC day), each in its own file. The files may be lost: the time that they cover
// then counts as not observed. Threads: any; only one thread at a time writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"

namespace subak {

// The folder for the store PATH is PATH.activity. The functions get this complete path.
inline constexpr char kActivitySuffix[] = ".activity";

// Replaces the file of the part, and makes the folder if it is missing. The new file is durable
// when this returns; after an error, the old file stays. `seed`: the seed of the store
// (server/store/proof/head.h). It refuses more than limits::kMaxFactBytes.
std::optional<Error> write_activity_file(const std::string& folder, std::uint32_t seed,
                                         std::int64_t part, std::string_view bytes);
// Returns the bytes of the part; empty: there is no such file. An error: the file belongs to
// another store, is damaged, or cannot be read.
Result<std::string> read_activity_file(const std::string& folder, std::uint32_t seed,
                                       std::int64_t part);

}  // namespace subak

// Copies of a store: one consistent picture, whatever is committed meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/limits.h"

namespace subak {

// Copies the store at `from` as of now, its write-ahead log included, to a new file `to`: one file
// without a log beside it, readable for its owner only, not yet synced. `wanted` is asked between
// parts; once it says no, the copy ends with an error. After an error there is no `to`. Refused if
// the disk of `to` would have less than `spare_bytes` left. Commits to `from` go on, but its log
// grows until the copy is done. Threads: any; a connection of its own.
std::optional<Error> copy_store(const std::string& from, const std::string& to,
                                const std::function<bool()>& wanted,
                                std::int64_t spare_bytes = limits::kSpareDiskBytes);

// Makes what was written to this file (and to the folder's entry for it) durable.
std::optional<Error> sync_file(const std::string& path);

}  // namespace subak

// Copies of a store: one consistent snapshot, whatever is committed meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/limits.h"

namespace subak {

// Copies the store at `from` as of now, with its write-ahead log, to a new file `to`. The copy has
// no log. Only its owner may read it. It is not synced.
//
// `wanted` is called between parts; false ends the copy with an error. After an error there is no
// `to`. Refused if the disk of `to` would have less than `spare_bytes` left. Commits to `from` go
// on, but its log grows until the copy is done. Threads: any; a connection of its own.
// Each part has 2048 pages. `from` is opened for reading only. Refusals are kPrecondition: `to`
// exists already, its folder is missing, the disk lacks room, or SQLite failed (field
// "store.copy").
std::optional<Error> copy_store(const std::string& from, const std::string& to,
                                const std::function<bool()>& wanted,
                                std::int64_t spare_bytes = limits::kSpareDiskBytes);

// Makes this file and its folder's entry durable.
// By fsync(2) of both. kPrecondition: names what could not be synced, and the system's reason.
// Blocks as long as the disk takes.
std::optional<Error> sync_file(const std::string& path);

}  // namespace subak

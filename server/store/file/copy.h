// Copies of a store. A copy is one consistent snapshot, even if commits go on meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/limits.h"

namespace subak {

// Copies the present store at `from`, with its write-ahead log, to a new file `to`. The copy has no
// log, and is not synced. Only its owner may read it.
//
// It calls `wanted` between parts of 2048 pages; if that returns false, the copy ends with an
// error. After an error there is no file `to`. Commits to `from` go on, but its log grows until the
// copy is done. Threads: any; it uses its own connection, which only reads.
// Fails with kPrecondition if `to` exists, or if its folder is missing. It also fails if SQLite
// fails (field "store.copy"), or if the disk would have less than `spare_bytes` left.
std::optional<Error> copy_store(const std::string& from, const std::string& to,
                                const std::function<bool()>& wanted,
                                std::int64_t spare_bytes = limits::kSpareDiskBytes);

// Makes the file and its entry in the folder durable, by fsync(2) of both.
// A failure is kPrecondition; it names the file or folder and the system's reason. The call blocks
// as long as the disk takes.
std::optional<Error> sync_file(const std::string& path);

}  // namespace subak

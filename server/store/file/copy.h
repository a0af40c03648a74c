// Copies a store to a file. A copy is one consistent snapshot, even if commits run at the same
// time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/limits.h"

namespace subak {

// Copies the store at `from`, including the content of its write-ahead log, to a new file `to`. The
// copy has no log and is not synced. Only the owner of the file may read the copy.
//
// It calls `wanted` between parts of 2048 pages. If `wanted` returns false, the copy ends with an
// error. After an error, no new file is left. Commits to `from` can run during the copy, but the
// log of `from` grows until the copy is done. It fails with kPrecondition in these cases:
// - `to` exists, or its folder is missing.
// - The disk would have less than `spare_bytes` left.
// - SQLite fails; the field is then "store.copy".
// Threads: any; it uses a separate connection, which only reads.
std::optional<Error> copy_store(const std::string& from, const std::string& to,
                                const std::function<bool()>& wanted,
                                std::int64_t spare_bytes = limits::kSpareDiskBytes);

// Returns an error if the disk of the new file `to` has less than `needed` bytes free:
// kPrecondition, with the folder. Threads: any.
std::optional<Error> check_room(const std::string& to, std::int64_t needed);

// Makes the file and its entry in the folder durable, by fsync(2) of the file and the folder. The
// error is kPrecondition, and has the file or folder and the system's reason. The call blocks until
// the disk has done this.
std::optional<Error> sync_file(const std::string& path);

}  // namespace subak

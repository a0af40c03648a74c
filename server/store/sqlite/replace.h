// Replaces one SQLite store with another, and keeps the old one under another path. Threads: any,
// but only one at a time for each store.
#pragma once

#include <string>

#include "core/error.h"

namespace subak {

// True if there is a store, or the log of a store, for the path `state`. An empty file without a
// log is no store.
bool store_is_there(const std::string& state);

// Replaces the store `state` with the file `draft`, which must be synced and in the same folder.
// The change is durable when this returns. The old store, its log, its calibration file, its marks
// of notices, its sums of activity and its past checkpoints get paths that begin with
// STATE.replaced-N. N is the first free number. Returns the new path of the old store; empty: there
// was no old store. After an error, the old store may have both paths, and it always has at least
// one of them. The caller must have the lock of the store.
Result<std::string> replace_store(const std::string& draft, const std::string& state);

}  // namespace subak

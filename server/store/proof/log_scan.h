// Checks SQLite's write-ahead log before SQLite opens it. SQLite ignores, without a message, all of
// a log after its first bad frame. That is right after a torn write of the last transaction.
// Otherwise it loses acknowledged facts. Each commit is synced before the next one is written. So a
// bad frame is damage if intact frames of a later transaction follow it.
#pragma once

#include <optional>
#include <string>

#include "core/error.h"

namespace subak {

// Checks the log of the store `path` ("PATH-wal"). It accepts a missing or empty log. It refuses
//  - a bad frame with intact frames of a later transaction behind it;
//  - a damaged header before frames that the store lacks;
//  - a log whose store is empty.
// The error names the frame and its place in the file. Behind the end of the log, frames of an
// earlier use may remain; they do not count. No process may have the store open.
// Source of the format: https://www.sqlite.org/fileformat.html, 4. The check changes no file. Time:
// one reading of the log.
std::optional<Error> check_log(const std::string& path);

}  // namespace subak

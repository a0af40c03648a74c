// Checks SQLite's write-ahead log before SQLite opens it. SQLite silently ends a log at its first
// bad frame. That is right after a torn write of the last transaction, and loses acknowledged facts
// otherwise. Each commit is synced before the next one is written. So intact frames of a later
// transaction behind a break show that the break is damage.
#pragma once

#include <optional>
#include <string>

#include "core/error.h"

namespace subak {

// Checks the log of the store `path` ("PATH-wal"). A missing or empty log is good. Refused are
//  - a break with frames of a later transaction behind it;
//  - a damaged header before frames that the store lacks;
//  - a log whose store is empty.
// The error names the frame and its place in the file. Frames of an earlier use of the log behind
// its end do not count. No process may have the store open.
// Source of the format: https://www.sqlite.org/fileformat.html, 4. It changes nothing. Time: one
// reading of the log.
std::optional<Error> check_log(const std::string& path);

}  // namespace subak

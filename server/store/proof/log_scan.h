// Checks SQLite's write-ahead log before SQLite opens it. SQLite ignores everything after the first
// bad frame of a log, without a message. Ignoring these frames is right if the bad frame comes from
// a torn write of the last transaction. In any other case, SQLite would lose acknowledged facts.
// Each commit is synced before the next one is written. So if intact frames of a later transaction
// follow a bad frame, the bad frame is damage. Threads: any; check_log() blocks while it reads the
// log.
#pragma once

#include <optional>
#include <string>

#include "core/error.h"

namespace subak {

// Checks the log of the store `path`, which is the file PATH-wal. It accepts a missing or empty
// log. It refuses
// - a bad frame with intact frames of a later transaction behind it;
// - a damaged header before frames that the store lacks;
// - a log whose store is empty.
// The error names the frame and its position in the file. After the end of the log, the file may
// still have frames of an earlier use; they do not count. No process may have the store open. The
// check reads the log once and changes no file. The format of the log is described in
// https://www.sqlite.org/fileformat.html, 4.
std::optional<Error> check_log(const std::string& path);

}  // namespace subak

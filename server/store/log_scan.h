// Looks at SQLite's write-ahead log before SQLite does. SQLite ends a log at its first bad frame
// without a word, which is right after a power cut in the last transaction and loses acknowledged
// facts otherwise. Each commit is synced before the next one is written, so what lies whole behind
// a break, of a later transaction, says that the break is damage.
#pragma once

#include <optional>
#include <string>

#include "core/error.h"

namespace subak {

// Checks the log of the store `path` ("PATH-wal"). No log or an empty one is good. Refused are
//   - a break with frames of a later transaction behind it;
//   - a damaged header before frames that the store lacks;
//   - a log whose store is empty.
// The error names the frame and its place in the file. Frames that an earlier use of the log left
// behind its end count for nothing. Nobody may have the store open.
std::optional<Error> check_log(const std::string& path);

}  // namespace subak

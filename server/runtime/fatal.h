// Ends the process when the store fails: a restart is the only recovery.
#pragma once

#include <functional>

#include "core/error.h"

namespace subak {

// May be called on any thread of the service. It must not return to normal work: the state is lost.
using Fatal = std::function<void(const Error&)>;

// Logs, then calls `fatal`. Without one it ends the process at once, with status 1 and no
// destructors, so that no further output is possible.
// With `fatal`, what happens next is its decision. Threads: any.
void end_process(const Error& error, const Fatal& fatal);

}  // namespace subak

// The end of the process when the store fails: restart is the one recovery path.
#pragma once

#include <functional>

#include "core/error.h"

namespace subak {

using Fatal = std::function<void(const Error&)>;

// Logs, then calls `fatal`; without one it ends the process at once, with status 1 and no
// destructors, so that nothing more can be shown.
void end_process(const Error& error, const Fatal& fatal);

}  // namespace subak

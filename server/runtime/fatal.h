// Ends the process when the store fails: a restart is the only recovery.
#pragma once

#include <functional>

#include "core/error.h"

namespace subak {

// The function that ends the service. It may be called on any thread of the service. The service
// must not work on after it, since the state is lost.
using Fatal = std::function<void(const Error&)>;

// Logs the error, then calls `fatal`. If `fatal` is empty, it ends the process at once with status
// 1. It runs no destructors then, so that no further output is possible.
// Threads: any.
void end_process(const Error& error, const Fatal& fatal);

}  // namespace subak

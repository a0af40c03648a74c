// Ends the process when the store fails, because only a restart recovers from that.
#pragma once

#include <functional>

#include "core/error.h"

namespace subak {

// The type of the function that ends the service. The service may call it on any of its threads.
// After this call, the service must do no further work, since its state is lost.
using Fatal = std::function<void(const Error&)>;

// Logs the error, then calls `fatal`. If `fatal` is empty, it ends the process at once with status
// 1. In that case no destructor runs, so the process can release no further results.
// Threads: any.
void end_process(const Error& error, const Fatal& fatal);

}  // namespace subak

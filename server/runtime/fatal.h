// Ends the process when the store fails, because only a restart recovers from that.
#pragma once

#include <functional>

#include "core/error.h"

namespace subak {

// The function that ends the service. It may be called on any thread of the service. After this
// call, the service must do no further work, since its state is lost.
using Fatal = std::function<void(const Error&)>;

// Logs the error, then calls `fatal`. If `fatal` is empty, it ends the process at once with status
// 1. In that case no destructor runs, so the process can release no further results.
// Threads: any.
void end_process(const Error& error, const Fatal& fatal);

}  // namespace subak

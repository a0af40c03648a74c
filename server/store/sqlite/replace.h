// Replaces one store with another.
#pragma once

#include <string>

#include "core/error.h"

namespace subak {

// True if there is a store, or a log of one.
// An empty file without a log is none.
bool store_is_there(const std::string& state);

// Puts the file `draft`, which is synced, in the place of `state`. The old store and its log are
// kept aside. Durable on return. Returns where the old store lies; empty: there was none. The
// caller has the state's lock.
// Both are in one folder. The old store becomes STATE.replaced-N with the first free N, together
// with its log and its calibration. An error may leave it under both names. It is never without a
// name.
Result<std::string> replace_store(const std::string& draft, const std::string& state);

}  // namespace subak

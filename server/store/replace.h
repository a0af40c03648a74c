// One store in the place of another.
#pragma once

#include <string>

#include "core/error.h"

namespace subak {

// There is a store, or a log of one.
bool store_is_there(const std::string& state);

// Puts the file `draft`, which is synced, in the place of `state`; what was there goes aside, its
// log with it. Durable on return. Returns where the old store lies; empty: there was none. Whoever
// calls has the state's lock.
Result<std::string> replace_store(const std::string& draft, const std::string& state);

}  // namespace subak

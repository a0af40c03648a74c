// Replaces one store with another.
#pragma once

#include <string>

#include "core/error.h"

namespace subak {

// True if there is a store, or a log of one.
bool store_is_there(const std::string& state);

// Puts the file `draft`, which is synced, in the place of `state`. The old store and its log are
// kept aside. Durable on return. Returns where the old store lies; empty: there was none. The
// caller has the state's lock.
Result<std::string> replace_store(const std::string& draft, const std::string& state);

}  // namespace subak

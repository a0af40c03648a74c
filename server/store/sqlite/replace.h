// Replaces one store with another.
#pragma once

#include <string>

#include "core/error.h"

namespace subak {

// True if there is a store at the path `state`, or the log of a store.
// An empty file without a log is no store.
bool store_is_there(const std::string& state);

// Replaces the store `state` with the file `draft`, which is synced. The change is durable on
// return. The old store gets another name. Returns the old store's path; empty: there was none. The
// caller has the state's lock.
// Both files are in one folder. The old store becomes STATE.replaced-N with the first free N,
// together with its log and its calibration. After an error it may have both names, but it always
// has one.
Result<std::string> replace_store(const std::string& draft, const std::string& state);

}  // namespace subak

// Why pods of a gang wait: the gang is incomplete, or it has its pods already.
// Threads: none; pure functions.
#pragma once

#include "engine/engine.h"
#include "engine/state/state.h"

namespace subak::derive {

// What a gang lacks before it can wait for its turn.
Reason explain_incomplete(const state::Job& job);
// Of a job with pods that its gang has no rank for: why those wait.
Reason beyond_gang(const state::Job& job);

}  // namespace subak::derive

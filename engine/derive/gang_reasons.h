// Why pods of a gang wait: the gang is incomplete, or it already has all its pods. Threads: none;
// pure functions.
#pragma once

#include "engine/answers/answers.h"
#include "engine/state/state.h"

namespace subak::derive {

// What a gang lacks before it can wait for its turn.
Reason explain_incomplete(const state::Job& job);
// Why the pods without a rank wait, of a job with more pods than ranks.
Reason beyond_gang(const state::Job& job);

}  // namespace subak::derive

// Explains why a pod of a gang waits: the gang lacks pods, or all ranks of the gang already have
// pods. A rank is the number of a pod in its gang. reasons.h and rows.h call these functions.
// Threads: one at a time; pure functions.
#pragma once

#include "engine/answers/answers.h"
#include "engine/state/state.h"

namespace subak::derive {

// Returns the reason why a gang is incomplete, so that it cannot wait for its turn yet.
Reason explain_incomplete(const state::Job& job);
// For a job with more pods than ranks: returns why the pods without a rank wait.
Reason beyond_gang(const state::Job& job);

}  // namespace subak::derive

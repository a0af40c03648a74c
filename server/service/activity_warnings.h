// Writes texts about activity (how busy the held GPUs are) for users: for Events on idle jobs, and
// for the warnings of GetStatus. Threads: any; pure functions.
#pragma once

#include <string>
#include <vector>

#include "server/activity/book.h"

namespace subak {

// Returns the note of the Event about an idle job.
std::string idle_text(const IdleJob& job);
// Returns the warnings for GetStatus: why activity is not observed, and the busy GPUs that no pod
// holds, at most limits::kMaxUnheldShown of them.
std::vector<std::string> activity_warnings(const ActivityFigures& figures);

}  // namespace subak

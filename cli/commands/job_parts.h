// The shared parts of the job commands. Threads: one.
#pragma once

#include "cli/command.h"

namespace subak::cli {

void add_job_submit(Command job);
void add_job_edits(Command job);  // cancel, hold, release

}  // namespace subak::cli

// The parts that several commands of `subak job` share. Threads: one at a time.
#pragma once

#include "cli/command.h"

namespace subak::cli {

// Adds submit (cli/commands/job_submit.h has its flags).
void add_job_submit(Command job);
// Adds cancel, hold and release.
void add_job_edits(Command job);
// Adds history.
void add_job_history(Command job);

}  // namespace subak::cli

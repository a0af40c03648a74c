// The shared parts of the cluster commands. Threads: one.
#pragma once

#include "cli/command.h"

namespace subak::cli {

void add_cluster_edits(Command cluster);  // import, mode, delete, drain, undrain

}  // namespace subak::cli

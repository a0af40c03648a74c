// The parts that several commands of `subak cluster` share. Threads: one at a time.
#pragma once

#include "cli/command.h"

namespace subak::cli {

// Adds import, mode, delete, drain and undrain.
void add_cluster_edits(Command cluster);

}  // namespace subak::cli

// Adds the accounts, users and QOS of a Slurm dump to a migration. Threads: any; pure function.
#pragma once

#include <cstddef>

#include "cli/migrate/migration.h"

namespace subak::cli {

// Reads `files[file]`, a dump, and adds its content to `out`. `root` is the index of the account
// that stands for Slurm's account `root`. Throws MigrateMistake.
void read_slurm(const std::vector<SourceFile>& files, std::size_t file, std::size_t root,
                Migration& out);
// Returns the name of the cluster of a dump; empty: the dump has none.
std::string cluster_of_dump(const SourceFile& file);

}  // namespace subak::cli

// Gives the accounts of a migration their paths and shares in Subak. Threads: any; pure function.
#pragma once

#include "cli/migrate/migration.h"

namespace subak::cli {

// Fills in `path` and `own_shares` of all accounts, and `renamed`. A name that Subak does not
// accept becomes a similar name, and equal names of siblings become different. For each account and
// user with Slurm's Fairshare=parent, it adds an entry to `unmatched`. Throws MigrateMistake if a
// path has too many levels or bytes. `files`: the files that were read; this error names one of
// them.
void name_accounts(const std::vector<SourceFile>& files, Migration& out);

}  // namespace subak::cli

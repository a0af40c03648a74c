// Reads dumps of Slurm and manifests of Kueue, and turns them into Subak's accounts.
// docs/migrate.md says how each field is translated. Threads: any; pure functions.
#pragma once

#include <string>
#include <vector>

#include "cli/migrate/migration.h"
#include "core/error.h"

namespace subak::cli {

// Reads files of Slurm (from `sacctmgr dump`) and of Kueue (YAML or JSON). With several dumps,
// each dump gets an account with the name of its cluster. The error is that of the first mistake,
// and names file, line, field and value.
Result<Migration> read_migration(const std::vector<SourceFile>& files,
                                 const MigrateOptions& options);

// Returns the account file for `subak account apply`. Comments have the settings for the
// configuration, the names that changed, and all things without an equivalent.
std::string migration_text(const Migration& migration);
// Returns the tree as JSON in the form of `subak sim share`, without usage. Accounts have their
// paths as names. Fairshare=parent stays `parent`, because `sim share` computes Slurm's factors.
std::string share_case_text(const Migration& migration);

}  // namespace subak::cli

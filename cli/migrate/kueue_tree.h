// Turns Kueue's objects into accounts. A Cohort becomes an account, and a ClusterQueue becomes an
// account below that of its Cohort. The namespaces of LocalQueues become namespaces of accounts.
// Threads: any; pure function.
#pragma once

#include <vector>

#include "cli/migrate/kueue_reader.h"
#include "cli/migrate/migration.h"

namespace subak::cli {

// Adds the accounts of all objects to `out`. Throws MigrateMistake if Cohorts form a cycle.
void add_kueue_tree(const std::vector<SourceFile>& files, const KueueObjects& objects,
                    const MigrateOptions& options, Migration& out);

}  // namespace subak::cli

// The names that the service knows, for suggestions and completion. Threads: one.
#pragma once

#include <string>
#include <vector>

#include "cli/client.h"

namespace subak::cli {

// What the names belong to. Each kind has its list call of the service.
enum class NameKind { kAccounts, kJobs, kClusters, kNodes, kProducts };

// Returns the names of at most one page of the list. The command line does not suggest later names.
// Throws Failure, as every call does.
std::vector<std::string> known_names(Client& client, NameKind kind);

}  // namespace subak::cli

// The names that the service knows, for suggestions and completion. Threads: one at a time.
#pragma once

#include <string>
#include <vector>

#include "cli/client.h"

namespace subak::cli {

// The kind of objects that the names belong to. For each kind, the service has a call that lists
// its objects.
enum class NameKind { kAccounts, kJobs, kClusters, kNodes, kProducts };

// Returns the names on the first page of the list. The command line does not suggest names from
// later pages. Throws Failure in the same cases as Client::call().
std::vector<std::string> known_names(Client& client, NameKind kind);

}  // namespace subak::cli

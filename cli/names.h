// The names that the service knows, for suggestions and completion. Threads: one.
#pragma once

#include <string>
#include <vector>

#include "cli/client.h"

namespace subak::cli {

// What the names belong to: each kind is one list call of the service.
enum class NameKind { kAccounts, kJobs, kClusters, kNodes, kProducts };

// Returns at most one page; later names are not suggested. Throws Failure, as every call.
std::vector<std::string> known_names(Client& client, NameKind kind);

}  // namespace subak::cli

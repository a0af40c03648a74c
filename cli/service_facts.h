// Asks the service for its clusters and accounts, for commands that inspect a cluster. Threads:
// one.
#pragma once

#include <string>

#include "cli/session.h"
#include "cli/setup/preflight.h"

namespace subak::cli {

// `cluster`: the name of the cluster in Subak; empty: the only one. An unreachable service is no
// error, since users inspect a cluster before they start the service. Throws Failure if the service
// answers and refuses.
ServiceFacts ask_service(Session& session, const std::string& cluster);

}  // namespace subak::cli

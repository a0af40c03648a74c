// Asks the service for its clusters and accounts, for commands that inspect a cluster. Threads: one
// at a time.
#pragma once

#include <string>

#include "cli/session.h"
#include "cli/setup/preflight.h"

namespace subak::cli {

// Returns the answers of the service (ServiceFacts of cli/setup/preflight.h). `cluster`: the name
// of the cluster in Subak; empty: the only cluster. An unreachable service is no error, because
// users inspect a cluster before they start the service. Throws Failure if the service answers with
// a refusal.
ServiceFacts ask_service(Session& session, const std::string& cluster);

}  // namespace subak::cli

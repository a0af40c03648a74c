// The service's data about its clusters and accounts, for commands that inspect a cluster. Threads:
// one.
#pragma once

#include <string>

#include "cli/session.h"
#include "cli/setup/preflight.h"

namespace subak::cli {

// `cluster`: its name in Subak; empty: the only one. An unreachable service is no error, since
// users inspect a cluster before the service exists. Throws Failure if it answers and refuses.
ServiceFacts ask_service(Session& session, const std::string& cluster);

}  // namespace subak::cli

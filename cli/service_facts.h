// What the service says of its clusters and accounts, for commands that look at a cluster. Threads: one.
#pragma once

#include <string>

#include "cli/session.h"
#include "cli/setup/preflight.h"

namespace subak::cli {

// `cluster`: its name in Subak; empty: the only one. A service that does not answer is no hindrance: a
// cluster is looked at before it is there. Throws Failure where it answers and refuses.
ServiceFacts ask_service(Session& session, const std::string& cluster);

}  // namespace subak::cli

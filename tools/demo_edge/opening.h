// The first admission reviews that the demo (`make demo`) sends to the service's webhook, one of
// each kind, and a function that prints a line of the demo. Threads: the demo's main thread.
#pragma once

#include <string>

#include "tools/demo_edge/checks/checks.h"

namespace subak::demo {

// Sends the reviews, and prints one line for each. Stores in `edge` each pod that got Subak's gate.
// Adds one check to `out`: true if each answer was as expected. Blocks while the service is down.
// `ca_file`: the certificate of the webhook's CA, as PEM. `limit_s`: the time limit of the pods in
// seconds; 0: none.
void opening_reviews(Door& door, Edge& edge, const std::string& ca_file, Checks& out,
                     int limit_s = 0);

// Prints a line to stdout and flushes it. The line begins with the seconds since the first call.
// Threads: any, but the lines of several threads may mix.
void tell(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace subak::demo

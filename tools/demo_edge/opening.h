// The first admission reviews that the demo sends to the service's webhook, one of each kind, with
// the expected answers; and the function that prints the demo's lines.
#pragma once

#include <string>

#include "tools/demo_edge/checks/checks.h"

namespace subak::demo {

// Sends the reviews and prints one line for each kind. It stores each pod that the service gates in
// `edge`. `ca_file`: the certificate of the webhook's CA. `limit_s`: the time limit of the pods; 0:
// none. It adds one check to `out`: that every answer was as the contract says. The function blocks
// while the service is down.
void opening_reviews(Door& door, Edge& edge, const std::string& ca_file, Checks& out,
                     int limit_s = 0);

// Prints a line that begins with the seconds since the first call of this function.
// It writes to stdout and flushes it. Lines of several threads may mix.
void tell(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace subak::demo

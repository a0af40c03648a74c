// The first reviews, one of each kind, with the expected answers.
#pragma once

#include <string>

#include "tools/demo_edge/checks.h"

namespace subak::demo {

// Sends the reviews and prints one line for each kind. Pods to be stored go to the edge. `limit_s`:
// their time limit; 0: none.
// It adds one check to `out`: that every answer was as the contract says. Blocks while the service
// is away.
void opening_reviews(Door& door, Edge& edge, const std::string& ca_file, Checks& out,
                     int limit_s = 0);

// Prints a line with the seconds since the start.
// To stdout, flushed. The seconds count from its first call. Lines of several threads may mix.
void tell(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace subak::demo

// The first reviews, one of each kind, with the expected answers.
#pragma once

#include <string>

#include "tools/demo_edge/checks.h"

namespace subak::demo {

// Sends the reviews and prints one line for each kind. Pods to be stored go to the edge. `limit_s`:
// their time limit; 0: none.
void opening_reviews(Door& door, Edge& edge, const std::string& ca_file, Checks& out,
                     int limit_s = 0);

// Prints a line with the seconds since the start.
void tell(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace subak::demo

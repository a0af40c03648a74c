// The first reviews, one of each kind, with what each must be answered.
#pragma once

#include <string>

#include "tools/demo_edge/checks.h"

namespace subak::demo {

// Pods that are to be stored go to the edge. Prints one line for each kind. `limit_s`: the time limit that they
// state; 0: none.
void opening_reviews(Door& door, Edge& edge, const std::string& ca_file, Checks& out,
                     int limit_s = 0);

// A line of the story, with the seconds since the start.
void tell(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace subak::demo

// The first reviews, one of each kind, with what each must be answered.
#pragma once

#include <string>

#include "tools/demo_edge/checks.h"

namespace subak::demo {

// Pods that are to be stored go to the edge. Prints one line for each kind.
void opening_reviews(Door& door, Edge& edge, const std::string& ca_file, Checks& out);

// A line of the story, with the seconds since the start.
void tell(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace subak::demo

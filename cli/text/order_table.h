// The positions of the first waiting jobs in the order of the queue, before and after a change of
// shares or of the policy. The commands that make such edits show them. Threads: one at a time.
#pragma once

#include <ostream>

#include "subak/v1/common.pb.h"

namespace subak::cli {

// Prints a table of the jobs, or one sentence if the order does not change. Prints nothing without
// jobs. `wide`: cells are not shortened.
void print_order(std::ostream& out, const google::protobuf::RepeatedPtrField<v1::OrderPlace>& order,
                 bool wide);

}  // namespace subak::cli

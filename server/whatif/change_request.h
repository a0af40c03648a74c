// Reads the change of a what-if question: what should have been different in a window of the
// store's history, such as 8 more nodes (what_if_run.h). The call WhatIf uses it. Threads: any;
// pure functions.
#pragma once

#include "core/error.h"
#include "sim/history/change.h"
#include "subak/v1/policy_service.pb.h"

namespace subak::whatif {

// Returns the change that the lists `accounts`, `policy`, `nodes` and `load` of the request
// describe. A line is one entry of a list: an account's other settings, a key of the policy with
// another value, nodes that come or go, or jobs in addition. Accounts are read as in the call
// ApplyAccounts, and keys as in SetPolicy.
//
// The error is kInvalid, or kNotFound for an unknown key of the policy. Its field names the line,
// such as "nodes[1].count". The function cannot check whether accounts and nodes exist. It does not
// set Change::start_meters and Change::end_meters, which follow from the history.
Result<sim::Change> read_change(const v1::WhatIfRequest& request);

}  // namespace subak::whatif

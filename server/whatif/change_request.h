// Reads a change from the message of the API.
// Threads: any; pure functions.
#pragma once

#include "core/error.h"
#include "sim/history/change.h"
#include "subak/v1/policy_service.pb.h"

namespace subak::whatif {

// Reads all lines of the change. Values of accounts are read as in an edit of accounts, and values
// of the policy as in an edit of the policy. Meters of a half-life are not set. The error is
// kInvalid, or kNotFound for an unknown key of the policy; its field names the line, such as
// "nodes[1].count". Whether accounts and nodes exist is not checked.
Result<sim::Change> read_change(const v1::WhatIfRequest& request);

}  // namespace subak::whatif

// Prints the report of `whatif` for people. Threads: one at a time.
#pragma once

#include "cli/session.h"
#include "subak/v1/policy_service.pb.h"

namespace subak::cli {

// Prints how near the replay comes to what happened, the figures, the accounts and days that change
// the most, and the present queue. Each table fits kTableColumns; the form `wide` has all accounts.
void print_what_if(Session& session, const v1::WhatIfReport& report);

}  // namespace subak::cli

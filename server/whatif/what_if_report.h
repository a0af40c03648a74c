// Writes the answer to a what-if question (what_if_run.h) into the message of the API. Threads:
// any; pure functions.
#pragma once

#include "sim/history/present.h"
#include "sim/history/what_if.h"
#include "subak/v1/policy_service.pb.h"

namespace subak::whatif {

// Writes the report, except its field `present`. `before`: the replay of the window as it was.
// `after`: the replay with the change, and `changed` its workload (the jobs and nodes).
void put(const sim::History& history, const sim::HistoryReplay& before,
         const sim::Workload& changed, const sim::HistoryReplay& after, v1::WhatIfReport* out);
// Writes the field `present`: how the change moves the forecast of the jobs that wait now.
void put(const sim::PresentDifference& present, v1::WhatIfPresent* out);

}  // namespace subak::whatif

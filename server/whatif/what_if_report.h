// Writes the results of replays and forecasts into the message of the API.
// Threads: any; pure functions.
#pragma once

#include "sim/history/present.h"
#include "sim/history/what_if.h"
#include "subak/v1/policy_service.pb.h"

namespace subak::whatif {

// Writes all of the report but the present. `changed` is the workload of the replay `after`, and
// the workload of the history is that of the replay `before`.
void put(const sim::History& history, const sim::HistoryReplay& before,
         const sim::Workload& changed, const sim::HistoryReplay& after, v1::WhatIfReport* out);
void put(const sim::PresentDifference& present, v1::WhatIfPresent* out);

}  // namespace subak::whatif

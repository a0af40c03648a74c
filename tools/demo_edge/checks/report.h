// Prints the table at the end of the demo (`make demo`).
// Threads: one; the demo's main thread.
#pragma once

#include <vector>

#include "tools/demo_edge/checks/checks.h"

namespace subak::demo {

// The restarts of the service during the demo: their longest times in ms, and the numbers of
// repeated calls.
struct Restart {
  // The number of restarts.
  int kills = 0;
  // The time from kill -9 to the service's ready line.
  std::int64_t ready_ms = 0;
  // The time from kill -9 to the acknowledgement of the cluster's list.
  std::int64_t synced_ms = 0;
  // The numbers of repeated gRPC calls and reviews, and of requests that the service knew already.
  int repeated_calls = 0, repeated_reviews = 0, known_requests = 0;
};

// Prints the table on stdout. Returns true if every check succeeded.
// Other figures do not change the result.
bool report(const Story& story, const Books& books, const std::vector<ShareLine>& shares,
            const Restart& restart, const Checks& checks);

}  // namespace subak::demo

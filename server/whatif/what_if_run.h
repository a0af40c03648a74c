// Answers what a change would have done (the call WhatIf). It reads a window of a store's history,
// replays it as it was and with the change, and compares forecasts at the end of the window
// (docs/design/0132). Threads: one at a time for each reader.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/error.h"
#include "server/runtime/ports.h"
#include "subak/v1/policy_service.pb.h"

namespace subak::whatif {

// The caller who waits for the report. Both functions may be empty.
struct Caller {
  // Gets the name of the present step and the part of it that is done, in percent. It is called
  // only when one of them changes.
  std::function<void(const char* what, int percent)> progress;
  // Returns false if the caller no longer waits. Then the work stops soon.
  std::function<bool()> wanted;
};

// Makes the report for the facts up to `last_seq`, which the store must have. nullopt: the
// caller no longer waits. Errors, besides those of the reader:
// - those of read_change() and sim::changed();
// - kPrecondition, with the field "from": the store has no facts yet, or lacks facts that lead to
//   the start of the window;
// - kPrecondition, with the field "from": the half-life of usage changed in the window;
// - kInvalid, with the field "from": the start is not before the last fact, or the window is longer
//   than limits::kMaxHistoryMs;
// - kExhausted, with the field "from": the window has more than limits::kMaxHistoryJobs jobs.
// It keeps about four copies of the state in memory, and the jobs of the window.
Result<std::optional<v1::WhatIfReport>> run_what_if(StoreReader& reader, std::uint64_t last_seq,
                                                    const v1::WhatIfRequest& request,
                                                    const Caller& caller = {});

}  // namespace subak::whatif

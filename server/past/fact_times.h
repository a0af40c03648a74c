// Finds facts by their time. Times of facts never decrease. Threads: those that may use the reader.
#pragma once

#include <cstdint>

#include "core/error.h"
#include "core/quantity.h"
#include "server/runtime/ports.h"

namespace subak {

// Returns the first fact after `seq`. If there is none, the error is kNotFound.
Result<Fact> fact_after(StoreReader& reader, std::uint64_t seq);

// Returns the number of the last fact before `t`; 0: there is none. It looks at facts up to
// `last_seq`, which the store must have, and reads one fact in each of log2(last_seq) steps.
// Errors: those of fact_after() and of the reader.
Result<std::uint64_t> last_fact_before(StoreReader& reader, TimeMs t, std::uint64_t last_seq);

}  // namespace subak

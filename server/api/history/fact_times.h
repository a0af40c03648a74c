// Finds facts by their time. Times of facts never decrease.
#pragma once

#include <cstdint>

#include "core/error.h"
#include "core/quantity.h"
#include "server/runtime/ports.h"

namespace subak::api {

// Returns the number of the last fact before `t`; 0: there is none. It looks at facts up to
// `last_seq`, and reads one fact in each of log2(last_seq) steps.
Result<std::uint64_t> last_fact_before(StoreReader& store, TimeMs t, std::uint64_t last_seq);

}  // namespace subak::api

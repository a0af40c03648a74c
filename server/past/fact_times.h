// Finds facts of a store by their time, and reads long ranges of facts. Reads of the past use it.
// Times of facts never decrease. Threads: those that may use the reader.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/error.h"
#include "core/quantity.h"
#include "server/runtime/ports.h"

namespace subak {

// Returns the first fact after `seq`. If there is none, the error is kNotFound.
Result<Fact> fact_after(StoreReader& reader, std::uint64_t seq);

// Returns the number of the last fact before `t`; 0: there is none. It looks at facts up to
// `last_seq`, which the store must have. Errors: those of StoreReader::last_seq_until().
Result<std::uint64_t> last_fact_before(StoreReader& reader, TimeMs t, std::uint64_t last_seq);

// Reads the facts after `from` up to `to` in parts of limits::kPastFactsAtOnce. It passes each part
// to `take`, which returns true to go on, false to stop, or an error. True: all parts were taken.
// kNotFound, with the field "fact": the store lacks a fact of them. Other errors: those of the
// reader and of `take`.
Result<bool> read_facts(StoreReader& reader, std::uint64_t from, std::uint64_t to,
                        const std::function<Result<bool>(std::vector<Fact>&& part)>& take);

}  // namespace subak

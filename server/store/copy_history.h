// A store made again from another's facts, of whatever kind the two are.
#pragma once

#include <cstdint>
#include <functional>

#include "core/error.h"
#include "server/runtime/ports.h"

namespace subak {

// Writes all facts of `from` up to number `until`, and its checkpoint unless it is of later, into `to`, which has none
// and was made with the same uuid: so the ledger, the audit log and every sum follow alike. Facts that come meanwhile
// may be in it. Returns the number of the last. `wanted` is asked between parts; once it says no, this ends with an
// error.
Result<std::uint64_t> copy_history(StoreReader& from, Store& to,
                                   const std::function<bool()>& wanted,
                                   std::uint64_t until = UINT64_MAX);

}  // namespace subak

// Builds a store from another store's facts, of whatever kind the two are.
#pragma once

#include <cstdint>
#include <functional>

#include "core/error.h"
#include "server/runtime/ports.h"

namespace subak {

// Writes all facts of `from` up to number `until` into `to`. It also writes the checkpoint of
// `from` unless that is later. `to` has no facts and has the same uuid, so ledger, audit log and
// all checksums come out alike. Facts committed meanwhile may be included. Returns the number of
// the last. `wanted` is called between parts; false ends this with an error.
// 0: `from` has no facts. Facts go over in parts of limits::kCopiedFactsAtOnce, and each part is a
// commit. After an error `to` has the parts so far. A checkpoint that is too large to pack is left
// out. `wanted` false is kPrecondition. Threads: the caller's, which owns both.
Result<std::uint64_t> copy_history(StoreReader& from, Store& to,
                                   const std::function<bool()>& wanted,
                                   std::uint64_t until = UINT64_MAX);

}  // namespace subak

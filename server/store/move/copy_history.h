// Fills a store with the facts of another store. Each of the two may be a file or a database.
#pragma once

#include <cstdint>
#include <functional>

#include "core/error.h"
#include "server/runtime/ports.h"

namespace subak {

// Writes all facts of `from` up to the number `until` into the store `to`, which must have no
// facts. It also writes the checkpoint of `from`, unless the checkpoint is later than the last of
// these facts, or has a fact that cannot be packed. The two stores must have the same uuid, so the
// ledger, the audit log and all checksums become the same. Facts that are committed to `from`
// meanwhile may be included. Returns the number of the last fact; 0: `from` has no facts.
//
// It copies facts in parts of limits::kCopiedFactsAtOnce, and each part is one commit. It calls
// `wanted` between parts. If `wanted` returns false, it fails with kPrecondition. After an error,
// `to` has the parts that were copied so far. Threads: only the caller's thread, which must own
// both stores.
Result<std::uint64_t> copy_history(StoreReader& from, Store& to,
                                   const std::function<bool()>& wanted,
                                   std::uint64_t until = UINT64_MAX);

}  // namespace subak

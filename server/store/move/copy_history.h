// Builds a store from the facts of another store. Each may be a file or a database.
#pragma once

#include <cstdint>
#include <functional>

#include "core/error.h"
#include "server/runtime/ports.h"

namespace subak {

// Writes all facts of `from` up to number `until` into `to`. It also writes the checkpoint of
// `from`, unless the checkpoint is later than that. The store `to` must have no facts and the same
// uuid. So ledger, audit log and all checksums are the same as in `from`. Facts committed meanwhile
// may be included. Returns the number of the last fact; 0: `from` has no facts.
// It copies facts in parts of limits::kCopiedFactsAtOnce, and each part is a commit. It calls
// `wanted` between parts; if that returns false, it fails with kPrecondition. After an error `to`
// has the parts so far. It leaves out a checkpoint with a fact that cannot be packed. Threads: the
// caller's, which owns both stores.
Result<std::uint64_t> copy_history(StoreReader& from, Store& to,
                                   const std::function<bool()>& wanted,
                                   std::uint64_t until = UINT64_MAX);

}  // namespace subak

// Fills a store with the facts (numbered, durable decisions) of another store. Each of the two may
// be a file or a database. Restores use it.
#pragma once

#include <cstdint>
#include <functional>

#include "core/error.h"
#include "server/runtime/ports.h"

namespace subak {

// Writes all facts of `from` up to the number `until` into the store `to`, which must have no
// facts. The ledger and the audit log of `to` follow from the facts. It also writes the checkpoint
// of `from`, unless the state of the checkpoint has later facts, or a fact of the checkpoint cannot
// be encoded (PackedFacts::add()). Returns the number of the last fact that was written; 0: `from`
// has no facts.
//
// The two stores must have the same uuid: the checksums of all rows start from a checksum of the
// uuid. So the rows of `to` get the same checksums as those of `from`. Another process may commit
// facts to the store of `from` meanwhile. The copy may have some of these facts.
//
// It copies facts in parts of limits::kCopiedFactsAtOnce, and each part is one commit. It calls
// `wanted` between parts. If `wanted` returns false, it fails with kPrecondition. After an error,
// `to` has the parts that were copied so far. Threads: the caller's thread. No other thread may use
// the objects `from` and `to` meanwhile.
Result<std::uint64_t> copy_history(StoreReader& from, Store& to,
                                   const std::function<bool()>& wanted,
                                   std::uint64_t until = UINT64_MAX);

}  // namespace subak

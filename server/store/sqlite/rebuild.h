// Removes a damaged checkpoint from a SQLite store. A checkpoint only makes a start faster: the
// facts alone rebuild the state, so the store remains complete. Threads: any, but only one at a
// time for each store; the function blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"

namespace subak {

// The result of a rebuild.
struct Rebuilt {
  std::string replaced;  // path of the damaged store; empty: the store was intact
};

// Removes the checkpoint, so that a start reads all facts. First applies the migrations that the
// store lacks. The work then depends on the damage:
// - The store is intact: it only removes the rows that identify the checkpoint in use.
// - Only the checkpoint is damaged: it copies all other data to a new file and checks the copy. The
//   new file replaces the old one, which gets another path.
// - The facts, the ledger or the audit log are damaged: it refuses and changes no file.
//
// The caller must have the store's lock, and no process may have the store open. `version`: the
// newest fact version that this program knows; a store of a newer version is refused. The new file
// is at PATH.rebuilding, and needs disk space for a second store. The function reads the store
// once, or up to three times if the checkpoint is damaged. Errors of the database have the field
// "store.rebuild".
Result<Rebuilt> drop_checkpoint(const std::string& path, std::uint32_t version);

}  // namespace subak

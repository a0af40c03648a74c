// Repairs a store with a damaged checkpoint, since its facts are enough.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"

namespace subak {

// The result of a rebuild.
struct Rebuilt {
  std::string replaced;  // path of the damaged store; empty: the file was intact
};

// Removes the checkpoint, so that a start reads all facts. If only the checkpoint is damaged, it
// copies all other data to a new file and checks them. The new file replaces the old one, which
// gets another name. If facts, ledger or audit log are damaged too, it refuses and changes no file.
// `version`: the newest fact version that this program knows. The caller has the store's lock, and
// no process has the store open.
// It makes the new file at PATH.rebuilding, which needs disk space for the store. It reads the
// store once, or up to three times if the checkpoint is damaged.
// Errors of the database have field "store.rebuild".
Result<Rebuilt> drop_checkpoint(const std::string& path, std::uint32_t version);

}  // namespace subak

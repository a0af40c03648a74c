// Repairs a store with a damaged checkpoint from its facts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"

namespace subak {

// The result of a rebuild.
struct Rebuilt {
  std::string replaced;  // where the damaged store lies; empty: the file was intact
};

// Removes the checkpoint, so that a start reads all facts. If only the checkpoint is damaged, all
// other data are copied to a new file and proved. The new file replaces the old one, which is kept
// aside. Refused, with nothing changed: facts, ledger or audit log are damaged too. `version`: the
// newest fact version that this program knows. The caller has the store's lock, and no process has
// the store open.
// Works in PATH.rebuilding, which needs room for the store. Reads the store once, or up to three
// times if the checkpoint is damaged. Errors of the database have field "store.rebuild".
Result<Rebuilt> drop_checkpoint(const std::string& path, std::uint32_t version);

}  // namespace subak

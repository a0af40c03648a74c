// A store whose checkpoint is damaged is made usable again from its facts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"

namespace subak {

struct Rebuilt {
  std::string replaced;  // where the damaged store lies; empty: the file was whole
};

// After this the store has no checkpoint, so that a start reads all facts. If only the checkpoint
// is damaged, all else is copied to a new file, proved, and put in the place of the old one, which
// goes aside. Refused, with nothing changed: facts, ledger or audit log are damaged too. `version`:
// the newest of facts that this program knows.
// Whoever calls has the store's lock, and nobody the store.
Result<Rebuilt> drop_checkpoint(const std::string& path, std::uint32_t version);

}  // namespace subak

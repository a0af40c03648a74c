// Restores a backup into a database.
#pragma once

#include <optional>
#include <string>

#include "core/error.h"
#include "server/runtime/ports.h"
#include "server/store/move/cut.h"
#include "server/store/move/restore.h"

namespace subak {

// Verifies the file `from` (verify_store()) and writes its facts into the database, which must have
// no facts. With `until` it writes only the facts that stay (find_cut()). It then reads the facts
// back and checks that they give the same state.
// To write, it takes the lead in the database, and gives the lead up at the end. While a subakd
// leads there, it waits until the lead is free; only the end of this process stops the wait.
// A refusal says the reason. After an incomplete copy the database must be created again. `from` is
// not changed. `clock` outlives the call.
Result<Restored> restore_to_postgres(const std::string& from, const std::string& address,
                                     const Clock& clock, const std::optional<Until>& until);

}  // namespace subak

// Restores a backup into a PostgreSQL database, for the command `subak admin restore`. Threads:
// any; the function blocks until the copy is verified.
#pragma once

#include <optional>
#include <string>

#include "core/error.h"
#include "server/runtime/ports.h"
#include "server/store/move/cut.h"
#include "server/store/move/restore.h"

namespace subak {

// Verifies the file `from` (verify_store()) and writes its facts into the database, which must have
// no facts. If `until` is set, it writes only the facts that stay (find_cut()). It then reads the
// facts back, and checks that they produce the same state.
//
// To write, it takes the lead in the database, and at the end it gives the lead up. If a subakd
// leads there, it waits until the lead is free. This wait has no limit; only the end of this
// process stops it. An error says why the database or the file is refused. After an incomplete
// copy, the database must be created again. The file is never changed.
Result<Restored> restore_to_postgres(const std::string& from, const std::string& address,
                                     const Clock& clock, const std::optional<Until>& until);

}  // namespace subak

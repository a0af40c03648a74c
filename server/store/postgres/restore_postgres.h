// Restores a backup into a database.
#pragma once

#include <optional>
#include <string>

#include "core/error.h"
#include "server/runtime/ports.h"
#include "server/store/move/cut.h"
#include "server/store/move/restore.h"

namespace subak {

// Proves the file `from` (verify_store()) and writes its facts into the database, which must have
// no facts. With `until` it writes only those that stay (find_cut()). It then reads them back: the
// state must be the same. It takes the lead there as soon as that is free. While a subakd leads on
// the database, it waits, and only the end of this process stops that. Refused with the reason.
// After an incomplete copy the database must be created again. `from` is not changed. `clock`
// outlives the call. At the end the lead is free again.
Result<Restored> restore_to_postgres(const std::string& from, const std::string& address,
                                     const Clock& clock, const std::optional<Until>& until);

}  // namespace subak

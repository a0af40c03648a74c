// A backup put into a database.
#pragma once

#include <optional>
#include <string>

#include "core/error.h"
#include "server/runtime/ports.h"
#include "server/store/cut.h"
#include "server/store/restore.h"

namespace subak {

// Proves the file `from` (verify_store()), writes all of it, or what stays with `until` (find_cut()), into the database,
// which must have no facts, and reads that back: the same state. Takes the lead there, so a subakd that runs on it ends.
// Refused with the reason; a database into which a copy did not get through has to be made anew.
Result<Restored> restore_to_postgres(const std::string& from, const std::string& address,
                                     const Clock& clock, const std::optional<Until>& until);

}  // namespace subak

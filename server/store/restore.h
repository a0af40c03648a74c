// Putting a store in the place of another, while no service runs on it.
#pragma once

#include <optional>
#include <string>

#include "core/error.h"
#include "server/store/cut.h"
#include "server/store/verify.h"

namespace subak {

struct RestoreOptions {
  std::string from;              // a backup, or the file of a service that is stopped
  std::string state;             // the file that subakd is given as --state
  bool force = false;            // put aside what is there
  std::optional<Until> until{};  // leave out what came later
};

struct Restored {
  StoreReport report;        // of what is in place now
  std::string replaced;      // where the old store lies; empty: there was none
  std::optional<Cut> cut{};  // with RestoreOptions::until
};

// Of damage that is the backup's, it says that another one helps.
Error of_backup(Error error);

// Copies, verifies the copy, and only then puts it in place, durable on return. Makes the folder
// (mode 0700) if it is missing. Refused, with nothing changed: a service has the state's lock;
// there is a store and no `force`; `from` is none or does not pass verify_store(); `until` is not in it
// (find_cut()). With `until` the store is made again from the facts that stay, by their numbers, with
// their rows of ledger and audit log, and proved to have the state that a fold of these gives.
Result<Restored> restore_store(const RestoreOptions& options);

}  // namespace subak

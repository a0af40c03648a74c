// Replaces a SQLite store with a backup, for the command `subak admin restore`. No service may run
// on the store. Threads: one at a time for each store; restore_store() blocks until the new store
// is durable.
#pragma once

#include <optional>
#include <string>

#include "core/error.h"
#include "server/store/move/cut.h"
#include "server/store/proof/verify.h"

namespace subak {

// The options of a restore. `from` and `state` may be links. If `state` is a link, the file to
// which it points is replaced.
struct RestoreOptions {
  std::string from;              // a backup, or the file of a service that is stopped
  std::string state;             // the file for --state of subakd
  bool force = false;            // replace an existing store
  std::optional<Until> until{};  // leave out later facts
};

// The result of a restore.
struct Restored {
  StoreReport report;        // of the restored store
  std::string replaced;      // path of the old store; empty: there was none
  std::optional<Cut> cut{};  // set if `until` is set
};

// If the error says that a backup is damaged, adds the advice to use another backup. Returns other
// errors unchanged.
Error of_backup(Error error);

// Copies the backup, migrates the copy if an older version made it, verifies the copy, and then
// replaces the store with this copy. The new store is durable when this returns. If the folder of
// the store is missing, it makes the folder with mode 0700.
//
// In these cases it refuses and changes no file:
// - a service has the state's lock;
// - there is a store, and `force` is not set;
// - `from` is not a store or does not pass verify_store();
// - `until` is not a moment in the history of `from` (find_cut()).
//
// With `until`, it makes the new store from the facts that stay, with the same numbers, ledger rows
// and audit rows. It checks that the state of the new store is the one that these facts produce.
//
// It never changes the file `from`. It makes the copy at STATE.restoring. This needs disk space for
// one copy, or for two copies if `until` is set. If the run is interrupted, that file stays, and
// the next run removes it. Errors name `from`, not the copy. kNotFound: `from` is missing or empty.
// kExists: there is a store, and `force` is not set.
Result<Restored> restore_store(const RestoreOptions& options);

}  // namespace subak

// Replaces a store with a backup, while no service runs on it.
#pragma once

#include <optional>
#include <string>

#include "core/error.h"
#include "server/store/move/cut.h"
#include "server/store/proof/verify.h"

namespace subak {

// The options of a restore. `from` and `state` may be links.
// If `state` is a link, its target is replaced.
struct RestoreOptions {
  std::string from;              // a backup, or the file of a service that is stopped
  std::string state;             // the file that subakd gets as --state
  bool force = false;            // put an existing store aside
  std::optional<Until> until{};  // leave out later facts
};

// The result of a restore.
struct Restored {
  StoreReport report;        // of the restored store
  std::string replaced;      // path of the old store; empty: there was none
  std::optional<Cut> cut{};  // set with RestoreOptions::until
};

// Adds the advice to use another backup, to an error about a damaged backup.
// Other errors pass unchanged.
Error of_backup(Error error);

// Copies the backup, verifies the copy, and then replaces the store with it. The store is durable
// on return. It makes the folder, with mode 0700, if it is missing.
//
// It refuses in these cases, and changes no file:
// - a service has the state's lock;
// - there is a store and no `force`;
// - `from` is not a store or does not pass verify_store();
// - `until` is not in it (find_cut()).
//
// With `until` it rebuilds the store from the facts that stay, with the same numbers, ledger rows
// and audit rows. It checks that the new store's state is the one that these facts give.
// It never changes `from`. It makes the copy at STATE.restoring, which needs disk space (twice as
// much with `until`). An interrupted run leaves that file, and the next run removes it. Errors name
// `from`, not the copy. kNotFound: `from` is missing or empty. kExists:
// there is a store and no `force`.
Result<Restored> restore_store(const RestoreOptions& options);

}  // namespace subak

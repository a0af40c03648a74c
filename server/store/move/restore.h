// Replaces a store with a backup, while no service runs on it.
#pragma once

#include <optional>
#include <string>

#include "core/error.h"
#include "server/store/move/cut.h"
#include "server/store/proof/verify.h"

namespace subak {

// `from` and `state` may be links; the file that `state` points to is replaced.
struct RestoreOptions {
  std::string from;              // a backup, or the file of a service that is stopped
  std::string state;             // the file that subakd gets as --state
  bool force = false;            // put an existing store aside
  std::optional<Until> until{};  // leave out later facts
};

// The result of a restore.
struct Restored {
  StoreReport report;        // of the store in place now
  std::string replaced;      // where the old store lies; empty: there was none
  std::optional<Cut> cut{};  // with RestoreOptions::until
};

// Adds to an error about a damaged backup that another backup helps.
// Other errors pass unchanged.
Error of_backup(Error error);

// Copies, verifies the copy, and only then puts it in place; durable on return. Makes the folder
// (mode 0700) if it is missing.
//
// Refused, with nothing changed:
// - a service has the state's lock;
// - there is a store and no `force`;
// - `from` is not a store or does not pass verify_store();
// - `until` is not in it (find_cut()).
//
// With `until` the store is rebuilt from the facts that stay, by their numbers, with their rows of
// ledger and audit log. Its state is proved to be the fold of these facts.
// `from` is never changed. The work lies in STATE.restoring, which needs room for the copy (twice
// with `until`). A broken run leaves it, and the next one removes it. Errors name `from`, not the
// copy. kNotFound: `from` is missing or empty. kExists: there is a store and no `force`.
Result<Restored> restore_store(const RestoreOptions& options);

}  // namespace subak

// The embedded store: one SQLite file in WAL mode with synchronous=FULL, one writer, a lock file
// beside it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/error.h"
#include "core/limits.h"
#include "server/runtime/ports.h"
#include "server/store/file/refusals.h"

namespace subak {

struct SqliteOptions {
  std::string path;  // created with its tables if missing; its folder must exist
  // True: checks the whole store before it is used, if it has at most kQuickCheckBytes. A larger
  // store is checked while it is used. So is any store if this is false.
  bool check = true;
  int wal_pages = limits::kWalPages;  // the log is copied at this length in pages
  // The newest fact version that this program knows. A test sets a lower one, to
  // act as an older program.
  std::uint32_t fact_version = kFactVersion;
  // True: ignores the checkpoint, so the state is rebuilt from all facts. If the checkpoint is
  // damaged, a new file without it replaces the store, and the old file gets another name.
  bool ignore_checkpoint = false;
  // Called once, on a thread of the store, if its file or its log was removed or replaced while the
  // store is open. Commits fail from then on too. The function must not destroy the store.
  std::function<void(const Error&)> on_lost{};
  // The uuid for a new store that becomes a copy of another store; empty: a new uuid.
  std::string uuid{};
  std::uint32_t file_system = 0;  // a number of statfs(2); 0: ask the system
};

// Opens, checks and migrates a store. An error names the cause and the remedy. It refuses
// - a store in use by another process, or on a network file system;
// - a file that is not SQLite's, or is another program's;
// - a truncated or damaged store (with the first bad row, or frame of the log);
// - a store with an applied migration that differs, or written by a newer program.
//
// It repairs no damage without a message. A new store has fact version 1. commit() and
// write_checkpoint() refuse kinds, fields and values of a newer fact version than the store's.
Result<std::unique_ptr<Store>> open_sqlite_store(const SqliteOptions& options);

}  // namespace subak

// The embedded store: one SQLite file in WAL mode with synchronous=FULL. Only one process at a time
// uses the file, and a lock file beside the store ensures that. Threads: any may call
// open_sqlite_store(), which blocks; ports.h says which threads use the store.
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

// The options of a SQLite store.
struct SqliteOptions {
  std::string path;  // a missing file is created; its folder must exist
  // True: a store of at most limits::kQuickCheckBytes is checked completely before it is used. A
  // larger store is checked while it is used. If this is false, a store of any size is checked
  // while it is used.
  bool check = true;
  int wal_pages = limits::kWalPages;  // at this many pages, the log is copied
  // The newest fact version that this program knows. A test sets a lower version, so that the
  // program acts like an older program.
  std::uint32_t fact_version = kFactVersion;
  // True: the checkpoint is ignored, so the state is rebuilt from all facts. If the checkpoint is
  // damaged, a new file without a checkpoint replaces the store, and the old file gets another path
  // (rebuild.h).
  bool ignore_checkpoint = false;
  // Called once, on a thread of the store, if the store's file or its log was removed or replaced
  // while the store is open. From then on, commits fail too. The function must not destroy the
  // store.
  std::function<void(const Error&)> on_lost{};
  // The uuid for a new store that becomes a copy of another store; empty: a new uuid.
  std::string uuid{};
  std::uint32_t file_system = 0;  // a number of statfs(2); 0: ask the system
};

// Opens, checks and migrates a store. An error names the cause and says what to do. It refuses
// - a store that another process uses, or that is on a network file system;
// - a file that is not a SQLite file, or that belongs to another program;
// - a truncated or damaged store (the error names the first bad row, or the first bad frame of the
//   log);
// - a store in which a migration with another text was applied, or that a newer program has
//   written.
//
// It repairs no damage without a message. A new store has fact version 1. commit() and
// write_checkpoint() refuse kinds, fields and values that are newer than the fact version of the
// store.
Result<std::unique_ptr<Store>> open_sqlite_store(const SqliteOptions& options);

}  // namespace subak

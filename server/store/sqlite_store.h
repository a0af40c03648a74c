// The embedded store: one SQLite file in WAL mode with synchronous=FULL, one writer, a lock file
// beside it.
#pragma once

#include <memory>
#include <string>

#include "core/error.h"
#include "core/limits.h"
#include "server/runtime/ports.h"

namespace subak {

struct SqliteOptions {
  std::string path;   // created with its tables if missing; its folder must exist
  bool check = true;  // PRAGMA quick_check (the small tables only beyond kQuickCheckBytes)
  int wal_pages = limits::kWalPages;  // then the log is copied into the file
  // The newest version of facts that this program knows; a test plays an older program with less.
  std::uint32_t fact_version = kFactVersion;
};

// Opens, checks and migrates. Errors say what is wrong and what to do: in use by another process,
// not an SQLite file, another program's file, damaged or truncated, an applied migration that
// differs, or written by a newer program. Nothing is ever repaired in silence. A new store is of
// fact version 1. commit() refuses kinds of versions that the store was not finalized to.
Result<std::unique_ptr<Store>> open_sqlite_store(const SqliteOptions& options);

}  // namespace subak

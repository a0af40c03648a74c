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
  // Checks the whole store before it is used, if it is at most kQuickCheckBytes. A larger store, or
  // one with `check` off, is checked while it is used.
  bool check = true;
  int wal_pages = limits::kWalPages;  // length of the log in pages at which it is copied
  // The newest fact version that this program knows; a test plays an older program with less.
  std::uint32_t fact_version = kFactVersion;
  // Ignores the checkpoint: the state comes from all facts. A damaged checkpoint is removed by
  // building a new file without it, and the old file is kept aside.
  bool ignore_checkpoint = false;
  // Called once, on a thread of the store's own, when its file or its log was removed or replaced
  // while it is open. Commits fail from then on too. Must not destroy the store.
  std::function<void(const Error&)> on_lost{};
  // The uuid of a new store that is to be a copy of another; empty: a new one.
  std::string uuid{};
  std::uint32_t file_system = 0;  // as statfs(2) numbers them; 0: ask the system
};

// Opens, checks and migrates. An error says what is wrong and names the remedy. Refused:
// - a store in use by another process, or on a network file system;
// - a file that is not SQLite's, or is another program's;
// - a truncated or damaged store (with the first bad row, or frame of the log);
// - a store with an applied migration that differs, or written by a newer program.
//
// Nothing is repaired silently. A new store has fact version 1. commit() and write_checkpoint()
// refuse kinds, fields and values of versions that the store was not finalized to.
Result<std::unique_ptr<Store>> open_sqlite_store(const SqliteOptions& options);

}  // namespace subak

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

namespace subak {

struct SqliteOptions {
  std::string path;  // created with its tables if missing; its folder must exist
  // Reads all of it before it is used, if it is not larger than kQuickCheckBytes; a larger one, or
  // without this, beside its use.
  bool check = true;
  int wal_pages = limits::kWalPages;  // then the log is copied into the file
  // The newest version of facts that this program knows; a test plays an older program with less.
  std::uint32_t fact_version = kFactVersion;
  // Leaves the checkpoint out: the state comes from all facts. If it is damaged, the store is made
  // again without it and the old file put aside.
  bool ignore_checkpoint = false;
  // Called once, on a thread of the store's own, when its file or its log was removed or replaced
  // while it is open; commits fail from then on too. Must not destroy the store.
  std::function<void(const Error&)> on_lost{};
  // Of a store that is made now, and is to be a copy of another; empty: a new one.
  std::string uuid{};
  std::uint32_t file_system = 0;  // as statfs(2) numbers them; 0: ask the system
};

// Opens, checks and migrates. Errors say what is wrong and what to do: in use by another process,
// on a file system of a network, not an SQLite file, another program's file, damaged (with the
// first bad row, or frame of the log) or truncated, an applied migration that differs, or written
// by a newer program. Nothing is ever repaired in silence. A new store is of fact version 1.
// commit() and write_checkpoint() refuse kinds, fields and values of versions that the store was
// not finalized to.
Result<std::unique_ptr<Store>> open_sqlite_store(const SqliteOptions& options);

// The store is not what was written: another try will not help, only a person. Of both stores; their errors want
// something that begins so.
bool says_damage(const Error& error);
inline constexpr char kWantUndamaged[] = "want an undamaged store: ";

}  // namespace subak

// Copies SQLite's write-ahead log into the database file on a thread and connection of its own.
// SQLite would do it inside COMMIT, which then takes 5 to 20 ms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include "core/error.h"
#include "server/store/file/connection.h"
#include "server/store/file/write_gate.h"
#include "threads/mutex.h"

namespace subak {

// Copies wait for no commit, and a commit waits at most for the rest of one copy (see WriteGate).
// Without copies the log only grows. So failures are logged, once per period, and are no error of a
// commit. Durability: SQLite syncs log and file in the right order,
// https://www.sqlite.org/wal.html.
class WalCopier {
 public:
  // `gate` outlives it. All commits of the store hold a WriteGate::Turn.
  explicit WalCopier(WriteGate& gate) : gate_(gate) {}
  // Ends the thread after the copy under way. `writer` must commit no more: its hook still points
  // here.
  ~WalCopier();
  WalCopier(const WalCopier&) = delete;
  WalCopier& operator=(const WalCopier&) = delete;

  // Starts the thread, and replaces the automatic checkpoints of `writer`. Copies once the log has
  // `pages`.
  // Call it once. `pages`: pages of the database, as SQLite counts the log. The error is that of
  // opening the store.
  std::optional<Error> start(const std::string& path, Connection& writer, int pages);
  // Copies that have ended since start(), failed ones included. Threads: any.
  std::uint64_t copies() const;

 private:
  // The thread.
  void run();
  // Copies the log twice: most of it beside commits, then the rest alone, so that the log can
  // restart.
  void copy();
  void copy_once();
  // Called within COMMIT, by the hook, with the pages that the log has now.
  void written(int pages);
  static int hook(void* self, sqlite3* db, const char* name, int pages);

  WriteGate& gate_;
  Connection db_;
  int pages_ = 0;
  mutable Mutex mutex_;
  CondVar wake_;
  bool due_ SUBAK_GUARDED_BY(mutex_) = false;
  bool stopping_ SUBAK_GUARDED_BY(mutex_) = false;
  bool failing_ = false;  // the copier thread's own: one log line per period of failures
  std::uint64_t copies_ SUBAK_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

}  // namespace subak

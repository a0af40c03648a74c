// Copies SQLite's write-ahead log into the database file, on its own thread and connection. SQLite
// would do so within COMMIT, which then takes 5 to 20 ms.
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

// A commit waits at most until one copy has ended (see WriteGate). If copies fail, the log only
// grows, so commits still succeed. A period of failures is logged once. SQLite syncs log and file
// in the right order, so facts stay durable: https://www.sqlite.org/wal.html.
class WalCopier {
 public:
  // `gate` outlives this object. Each commit of the store must hold a WriteGate::Turn.
  explicit WalCopier(WriteGate& gate) : gate_(gate) {}
  // Ends the thread after the copy in progress. `writer` must commit no more, since its hook still
  // points to this object.
  ~WalCopier();
  WalCopier(const WalCopier&) = delete;
  WalCopier& operator=(const WalCopier&) = delete;

  // Starts the thread, which replaces the automatic checkpoints of `writer`. It copies when the log
  // has `pages` pages of the database.
  // Call it once. It fails if the store cannot be opened.
  std::optional<Error> start(const std::string& path, Connection& writer, int pages);
  // Returns the number of copies that have ended since start(), with failed ones. Threads: any.
  std::uint64_t copies() const;

 private:
  // The thread's work.
  void run();
  // Copies the log in two steps: most of it while commits go on, then the last part without
  // commits. So the log can begin at its start again.
  void copy();
  void copy_once();
  // The hook calls it within COMMIT, with the present number of pages in the log.
  void written(int pages);
  static int hook(void* self, sqlite3* db, const char* name, int pages);

  WriteGate& gate_;
  Connection db_;
  int pages_ = 0;
  mutable Mutex mutex_;
  CondVar wake_;
  bool due_ SUBAK_GUARDED_BY(mutex_) = false;
  bool stopping_ SUBAK_GUARDED_BY(mutex_) = false;
  bool failing_ = false;  // only the copier's thread: one log line for a period of failures
  std::uint64_t copies_ SUBAK_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

}  // namespace subak

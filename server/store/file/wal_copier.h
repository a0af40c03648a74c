// Copies SQLite's write-ahead log into the database file, on a separate thread and connection.
// Without this class, SQLite would copy the log within a COMMIT, and that COMMIT would take 5 to 20
// ms. Threads: one at a time, unless a comment says otherwise.
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

// A commit waits at most for the last part of one copy (WriteGate). If copies fail, commits still
// succeed, and the log grows. The first failure is logged, and then no further one until a copy
// succeeds. SQLite syncs the log and the file in the right order, so facts stay durable:
// https://www.sqlite.org/wal.html.
class WalCopier {
 public:
  // `gate` must outlive this object. Each commit of the store must hold a WriteGate::Turn.
  explicit WalCopier(WriteGate& gate) : gate_(gate) {}
  // Ends the thread after the copy in progress. The connection `writer` of start() must make no
  // more commits, since its hook still points to this object.
  ~WalCopier();
  WalCopier(const WalCopier&) = delete;
  WalCopier& operator=(const WalCopier&) = delete;

  // Starts the thread, which does the work of the automatic checkpoints of `writer`. It begins a
  // copy when the log has at least `pages` pages. Call it once. It fails if the store cannot be
  // opened.
  std::optional<Error> start(const std::string& path, Connection& writer, int pages);
  // Returns the number of copies that have ended since start(). Copies that failed count too.
  // Threads: any.
  std::uint64_t copies() const;

 private:
  // The main function of the thread.
  void run();
  // Copies the log in two steps: most of it while commits run, then the last part while no commit
  // runs. SQLite can write the log from its beginning again only after the whole log was copied.
  void copy();
  void copy_once();
  // hook() calls written() within COMMIT, with the present number of pages in the log.
  void written(int pages);
  static int hook(void* self, sqlite3* db, const char* name, int pages);

  WriteGate& gate_;
  Connection db_;
  int pages_ = 0;
  mutable Mutex mutex_;
  CondVar wake_;
  bool due_ SUBAK_GUARDED_BY(mutex_) = false;
  bool stopping_ SUBAK_GUARDED_BY(mutex_) = false;
  bool failing_ = false;  // true: the last copy failed and that was logged; only for the thread
  std::uint64_t copies_ SUBAK_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

}  // namespace subak

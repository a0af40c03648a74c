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

class WalCopier {
 public:
  explicit WalCopier(WriteGate& gate) : gate_(gate) {}
  ~WalCopier();
  WalCopier(const WalCopier&) = delete;
  WalCopier& operator=(const WalCopier&) = delete;

  // Starts the thread, and replaces the automatic checkpoints of `writer`. Copies once the log has
  // `pages`.
  std::optional<Error> start(const std::string& path, Connection& writer, int pages);
  std::uint64_t copies() const;

 private:
  void run();
  void copy();
  void copy_once();
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

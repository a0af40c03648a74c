// Admits one writer at a time, commits before background work.
// It is a priority lock of two classes. Commits have no order among each other. Background work
// waits while any commit waits, and may wait forever under unbroken commits. Threads: any.
#pragma once

#include "threads/mutex.h"

namespace subak {

// Outlives its turns.
class WriteGate {
 public:
  enum class Who { kCommit, kBackground };

  // Holds the gate while it lives.
  class Turn {
   public:
    // Blocks until the turn has come. Not recursive: one thread holds one turn at a time.
    Turn(WriteGate& gate, Who who) : gate_(gate) { gate_.enter(who); }
    ~Turn() { gate_.leave(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    WriteGate& gate_;
  };

 private:
  // Takes the gate when it is free, background work only if no commit waits.
  void enter(Who who) {
    MutexLock lock(mutex_);
    if (who == Who::kCommit) {
      ++commits_waiting_;
      free_.wait(lock, [&]() SUBAK_REQUIRES(mutex_) { return !taken_; });
      --commits_waiting_;
    } else {
      free_.wait(lock, [&]() SUBAK_REQUIRES(mutex_) { return !taken_ && commits_waiting_ == 0; });
    }
    taken_ = true;
  }
  void leave() {
    {
      const MutexLock lock(mutex_);
      taken_ = false;
    }
    free_.notify_all();
  }

  // Held for the bookkeeping alone, never during a turn.
  Mutex mutex_;
  CondVar free_;
  int commits_waiting_ SUBAK_GUARDED_BY(mutex_) = 0;
  bool taken_ SUBAK_GUARDED_BY(mutex_) = false;
};

}  // namespace subak

// A lock for one writer at a time, in which commits have priority over background work. Waiting
// commits get the lock in no particular order. Background work waits while any commit waits, so it
// may wait for ever if commits never pause. Threads: any.
#pragma once

#include "threads/mutex.h"

namespace subak {

// The gate must outlive its turns.
class WriteGate {
 public:
  enum class Who { kCommit, kBackground };

  // A Turn holds the gate as long as it exists.
  class Turn {
   public:
    // Blocks until the gate is free for this writer. A thread may hold only one turn at a time.
    Turn(WriteGate& gate, Who who) : gate_(gate) { gate_.enter(who); }
    ~Turn() { gate_.leave(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    WriteGate& gate_;
  };

 private:
  // Waits until the gate is free, and takes it. Background work takes the gate only if no commit
  // waits.
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

  // Guards only the members below. This mutex is not locked during a turn.
  Mutex mutex_;
  CondVar free_;
  int commits_waiting_ SUBAK_GUARDED_BY(mutex_) = 0;
  bool taken_ SUBAK_GUARDED_BY(mutex_) = false;
};

}  // namespace subak

// A mutex whose use the compiler checks. Each member that a mutex protects names it with
// SUBAK_GUARDED_BY, and each function that needs it held with SUBAK_REQUIRES. Clang then refuses
// code that touches such a member without the lock (`make lint`). GCC ignores the names.
//
// The mutex of the standard library carries no such names (docs/design/0087).
// Source: https://clang.llvm.org/docs/ThreadSafetyAnalysis.html
// Threads: any.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define SUBAK_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define SUBAK_THREAD_ATTRIBUTE(x)
#endif

// A member that may only be read and written while this mutex is held.
#define SUBAK_GUARDED_BY(mutex) SUBAK_THREAD_ATTRIBUTE(guarded_by(mutex))
// A function, or a lambda, that may only be called while this mutex is held.
#define SUBAK_REQUIRES(mutex) SUBAK_THREAD_ATTRIBUTE(requires_capability(mutex))
// A function that must not be called while this mutex is held, as it locks it itself.
#define SUBAK_EXCLUDES(mutex) SUBAK_THREAD_ATTRIBUTE(locks_excluded(mutex))
// A function that the analysis skips. Say at the place why it is right.
#define SUBAK_NOT_ANALYSED SUBAK_THREAD_ATTRIBUTE(no_thread_safety_analysis)

namespace subak {

// A mutex. Lock it with a MutexLock.
class SUBAK_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  // Waits until no other thread holds it. Not recursive: a thread that holds it must not call this.
  void lock() SUBAK_THREAD_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  // The calling thread must hold it.
  void unlock() SUBAK_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

// Holds a mutex from its construction to its destruction. unlock() and lock() interrupt that.
class SUBAK_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  // Locks the mutex, which must outlive this object.
  explicit MutexLock(Mutex& mutex) SUBAK_THREAD_ATTRIBUTE(acquire_capability(mutex))
      : lock_(mutex.mutex_) {}
  ~MutexLock() SUBAK_THREAD_ATTRIBUTE(release_capability()) = default;
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  // Releases the mutex before the end of the block. It must be held; else std::system_error is
  // thrown.
  void unlock() SUBAK_THREAD_ATTRIBUTE(release_capability()) { lock_.unlock(); }
  // Takes the mutex again after unlock().
  void lock() SUBAK_THREAD_ATTRIBUTE(acquire_capability()) { lock_.lock(); }

 private:
  friend class CondVar;
  std::unique_lock<std::mutex> lock_;
};

// A condition to wait for. The mutex of the lock is free during the wait, and held again after it.
// Write the condition as a lambda with SUBAK_REQUIRES of that mutex.
class CondVar {
 public:
  // Waits until `ready()` is true.
  template <class Ready>
  void wait(MutexLock& lock, Ready ready) SUBAK_NOT_ANALYSED {
    wake_.wait(lock.lock_, ready);
  }
  // Waits until `ready()` is true or this time is over. Returns ready().
  template <class Rep, class Period, class Ready>
  bool wait_for(MutexLock& lock, std::chrono::duration<Rep, Period> most,
                Ready ready) SUBAK_NOT_ANALYSED {
    return wake_.wait_for(lock.lock_, most, ready);
  }
  // Waits until a notification or until this time is over, or for no reason: look at the condition.
  template <class Rep, class Period>
  void wait_for(MutexLock& lock, std::chrono::duration<Rep, Period> most) {
    wake_.wait_for(lock.lock_, most);
  }
  // Wakes one waiting thread, if there is one. The mutex need not be held.
  void notify_one() { wake_.notify_one(); }
  // Wakes all waiting threads.
  void notify_all() { wake_.notify_all(); }

 private:
  std::condition_variable wake_;
};

}  // namespace subak

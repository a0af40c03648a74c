// A mutex whose use the compiler checks. All code of the service uses it instead of std::mutex.
// With SUBAK_GUARDED_BY, a member names the mutex that protects it. With SUBAK_REQUIRES, a function
// names the mutex that its caller must hold. Clang then refuses code that uses such a member
// without the lock (`make lint`).
// GCC ignores these annotations.
//
// The mutex of the standard library has no such annotations (docs/design/0087).
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
// A function that must not be called while this mutex is held, because the
// function locks the mutex.
#define SUBAK_EXCLUDES(mutex) SUBAK_THREAD_ATTRIBUTE(locks_excluded(mutex))
// A function whose use of mutexes the analysis does not check. A comment at the function must say
// why it nevertheless holds each mutex that it needs.
#define SUBAK_NOT_ANALYSED SUBAK_THREAD_ATTRIBUTE(no_thread_safety_analysis)

namespace subak {

// A mutex. Lock it with a MutexLock.
class SUBAK_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  // Waits until no thread holds the mutex, then holds it. A thread that holds the mutex must not
  // call this.
  void lock() SUBAK_THREAD_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  // Releases the mutex, which the calling thread must hold.
  void unlock() SUBAK_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

// Holds a mutex from its construction to its destruction, except between unlock() and lock().
class SUBAK_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  // Locks the mutex, which must outlive this object.
  explicit MutexLock(Mutex& mutex) SUBAK_THREAD_ATTRIBUTE(acquire_capability(mutex))
      : lock_(mutex.mutex_) {}
  ~MutexLock() SUBAK_THREAD_ATTRIBUTE(release_capability()) = default;
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  // Releases the mutex before the end of the block.
  // Throws std::system_error if the mutex is not held.
  void unlock() SUBAK_THREAD_ATTRIBUTE(release_capability()) { lock_.unlock(); }
  // Takes the mutex again after unlock().
  void lock() SUBAK_THREAD_ATTRIBUTE(acquire_capability()) { lock_.lock(); }

 private:
  friend class CondVar;
  std::unique_lock<std::mutex> lock_;
};

// A condition variable. While a thread waits, the mutex of its lock is free. When the wait returns,
// the thread holds the mutex again. Write `ready` as a lambda with SUBAK_REQUIRES of that mutex.
// The functions that call `ready` are SUBAK_NOT_ANALYSED: the standard library calls `ready` only
// while the thread holds the mutex, but the analysis cannot see this.
class CondVar {
 public:
  // Waits until `ready()` is true.
  template <class Ready>
  void wait(MutexLock& lock, Ready ready) SUBAK_NOT_ANALYSED {
    wake_.wait(lock.lock_, ready);
  }
  // Waits until `ready()` is true, but at most for `most`. Returns ready().
  template <class Rep, class Period, class Ready>
  bool wait_for(MutexLock& lock, std::chrono::duration<Rep, Period> most,
                Ready ready) SUBAK_NOT_ANALYSED {
    return wake_.wait_for(lock.lock_, most, ready);
  }
  // Waits until a notification, but at most for `most`. This overload has no `ready`, and the
  // standard library may wake the thread without a notification (a spurious wake-up). So the caller
  // must check its condition after the call.
  template <class Rep, class Period>
  void wait_for(MutexLock& lock, std::chrono::duration<Rep, Period> most) {
    wake_.wait_for(lock.lock_, most);
  }
  // Wakes one waiting thread, if there is one. The caller need not hold the mutex.
  void notify_one() { wake_.notify_one(); }
  // Wakes all waiting threads.
  void notify_all() { wake_.notify_all(); }

 private:
  std::condition_variable wake_;
};

}  // namespace subak

// The thread that sends the notices of one receiver, with its queue. The Notifier owns one for each
// receiver. Threads: any may call the members, but only one at a time calls stop().
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "core/quantity.h"
#include "server/notify/marks.h"
#include "server/notify/notice.h"
#include "server/notify/post.h"
#include "server/notify/receiver_queue.h"
#include "server/notify/receivers.h"
#include "threads/mutex.h"

namespace subak {

// One receiver at work.
class ReceiverThread {
 public:
  // The clocks of NotifierPorts.
  struct Clocks {
    std::function<TimeMs()> now_ms;
    std::function<DurationMs()> monotonic_ms;
  };
  // Starts the thread. `after`, `lost`: as in ReceiverQueue.
  ReceiverThread(NoticeReceiver receiver, std::uint64_t after, std::uint64_t lost, Clocks clocks);
  ~ReceiverThread();  // stop()
  ReceiverThread(const ReceiverThread&) = delete;
  ReceiverThread& operator=(const ReceiverThread&) = delete;

  // Replaces the address, the form, the secret, the CA file and the account, from the next message
  // on.
  void set(NoticeReceiver receiver);
  // Adds the notice if it is for this receiver, and if its fact comes after the receiver's last
  // fact.
  void add(const Notice& notice);
  // Works as ReceiverQueue::saw().
  void saw(std::uint64_t seq);
  // Returns the mark of the receiver, written at `now_ms`.
  NoticeMark mark(TimeMs now_ms) const;
  NoticeFigures figures() const;
  // Makes the thread end soon, without waiting for it.
  void ask_stop();
  // Ends the thread, within about a second.
  void stop();

 private:
  void run();
  // Waits until a message is due. Returns false if the thread must end.
  bool wait_for_work(MutexLock& lock) SUBAK_REQUIRES(mutex_);
  // Logs the first failure after a success, and the first success after a failure.
  void tell(const std::string& name, const std::string& before, const std::string& now);

  const Clocks clocks_;
  NoticePost post_;
  mutable Mutex mutex_;
  CondVar wake_;
  NoticeReceiver receiver_ SUBAK_GUARDED_BY(mutex_);
  ReceiverQueue queue_ SUBAK_GUARDED_BY(mutex_);
  // The last fact that add() or saw() has seen.
  std::uint64_t last_seq_ SUBAK_GUARDED_BY(mutex_);
  bool stopping_ SUBAK_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace subak

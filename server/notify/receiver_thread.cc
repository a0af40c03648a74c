#include "server/notify/receiver_thread.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include "server/log/log.h"
#include "server/log/thread_name.h"
#include "server/notify/notice_limits.h"

namespace subak {

ReceiverThread::ReceiverThread(NoticeReceiver receiver, std::uint64_t after, std::uint64_t lost,
                               Clocks clocks)
    : clocks_(std::move(clocks)),
      receiver_(std::move(receiver)),
      queue_(after, lost),
      last_seq_(after) {
  thread_ = std::thread([this] {
    name_background_thread("notice sender");
    run();
  });
}

ReceiverThread::~ReceiverThread() { stop(); }

void ReceiverThread::set(NoticeReceiver receiver) {
  const MutexLock lock(mutex_);
  receiver_ = std::move(receiver);
}

void ReceiverThread::add(const Notice& notice) {
  {
    const MutexLock lock(mutex_);
    if (notice.seq <= last_seq_) return;
    last_seq_ = notice.seq;
    if (!receiver_.wants(notice)) return;
    queue_.add(notice);
  }
  wake_.notify_all();
}

void ReceiverThread::saw(std::uint64_t seq) {
  const MutexLock lock(mutex_);
  last_seq_ = std::max(last_seq_, seq);
  queue_.saw(last_seq_);
}

NoticeMark ReceiverThread::mark(TimeMs now_ms) const {
  const MutexLock lock(mutex_);
  return {queue_.done_seq(), queue_.untold_lost(), queue_.figures().waiting, now_ms};
}

NoticeFigures ReceiverThread::figures() const {
  const MutexLock lock(mutex_);
  return queue_.figures();
}

void ReceiverThread::ask_stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  post_.stop();
  wake_.notify_all();
}

void ReceiverThread::stop() {
  ask_stop();
  if (thread_.joinable()) thread_.join();
}

bool ReceiverThread::wait_for_work(MutexLock& lock) {
  while (!stopping_) {
    queue_.expire(clocks_.now_ms());
    const auto due = queue_.due_in(clocks_.monotonic_ms());
    if (due && *due == 0) return true;
    wake_.wait_for(lock, std::chrono::milliseconds(std::min(due.value_or(kMinuteMs), kMinuteMs)));
  }
  return false;
}

void ReceiverThread::tell(const std::string& name, const std::string& before,
                          const std::string& now) {
  if (before == now) return;
  if (now.empty()) {
    log::info("the receiver takes notices again", {{"receiver", name}});
  } else {
    log::warn("a notice is not delivered", {{"receiver", name}, {"error", now}});
  }
}

void ReceiverThread::run() {
  std::random_device random;
  MutexLock lock(mutex_);
  while (wait_for_work(lock)) {
    const NoticeMessage message = queue_.begin(clocks_.monotonic_ms());
    const NoticeReceiver receiver = receiver_;
    const std::string before = queue_.figures().error;
    lock.unlock();
    const std::string body = notice_body(message, receiver.form);
    const CallAnswer answer = post_.send(receiver, message.id(), body, clocks_.now_ms());
    lock.lock();
    queue_.answered(answer, clocks_.monotonic_ms(), random());
    tell(receiver.name, before, queue_.figures().error);
  }
}

}  // namespace subak

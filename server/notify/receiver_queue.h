// The notices that wait for one receiver, as a state machine. ReceiverThread, which sends the
// messages, owns the queue. The queue decides what to send next and when, what an answer means, and
// which notices are lost. The caller sends the messages, and passes the time and random numbers. At
// most one message is on the way at a time. The next message begins when this one is delivered or
// given up. Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "core/quantity.h"
#include "server/edge/client/answer.h"
#include "server/edge/client/backoff.h"
#include "server/notify/message.h"
#include "server/notify/notice.h"

namespace subak {

// Figures of one receiver since the start of the process. Notices count, not messages.
struct NoticeFigures {
  std::uint64_t sent = 0;
  // How many notices were lost.
  std::uint64_t lost = 0;
  // How many requests failed. The message of a failed request is sent again, or its notices count
  // as lost.
  std::uint64_t failed = 0;
  // How many notices wait now, including those on the way.
  std::size_t waiting = 0;
  // Why the last request failed; empty: the last request succeeded.
  std::string error;
};

// The queue of one receiver.
class ReceiverQueue {
 public:
  // `after`: all notices up to this fact are delivered or lost. `lost`: how many lost notices the
  // receiver was not told of.
  ReceiverQueue(std::uint64_t after, std::uint64_t lost) : last_seq_(after), untold_lost_(lost) {}

  // Adds a notice, whose fact must come after all facts so far. At limits::kMaxNoticesWaiting, the
  // oldest waiting notice is lost.
  void add(Notice notice);
  // Says that the queue has got all notices of facts up to `seq`.
  void saw(std::uint64_t seq);
  // Drops notices that are older than limits::kMaxNoticeAgeMs, and counts them as lost. A message
  // on the way stays. A message that failed stays until its last notice is too old.
  void expire(TimeMs now_ms);

  // Returns the time until begin() may be called; nullopt: there is nothing to send, or a message
  // is on the way. `monotonic_ms` never goes back from one call to the next.
  std::optional<DurationMs> due_in(DurationMs monotonic_ms) const;
  // Returns the message to send now. due_in() must be 0. A message that failed is returned again,
  // unchanged. The reference is valid until answered().
  const NoticeMessage& begin(DurationMs monotonic_ms);
  // Takes the answer to the message of begin(). A message that failed is due again after a wait.
  // The wait grows with each failure, and `random` shortens it by up to a half. But the wait is at
  // least as long as the receiver asks for. After limits::kMaxNoticeRefusals refusals, the message
  // is given up.
  void answered(const CallAnswer& answer, DurationMs monotonic_ms, std::uint32_t random);

  // Returns the number of a fact: all notices up to this fact are delivered or lost.
  std::uint64_t done_seq() const;
  // Returns the number of lost notices that the receiver does not know of.
  std::uint64_t untold_lost() const { return untold_lost_; }
  NoticeFigures figures() const;

 private:
  void lose(std::size_t count);
  // Drops `current_`. Its notices are lost.
  void give_up();
  // Returns how many messages may begin now.
  std::size_t free_starts(DurationMs monotonic_ms) const;

  std::deque<Notice> waiting_;
  // The message that is on the way or will be repeated; nullopt: there is none.
  std::optional<NoticeMessage> current_;
  bool on_the_way_ = false;
  // No message begins before this time, by the monotonic clock.
  DurationMs not_before_ms_ = 0;
  // When the messages of the last window began, the earliest first.
  std::deque<DurationMs> begun_;
  Backoff backoff_;
  // How often the receiver refused `current_`.
  std::uint32_t refusals_ = 0;
  std::uint64_t last_seq_ = 0;
  std::uint64_t untold_lost_ = 0;
  NoticeFigures figures_;
};

}  // namespace subak

#include "server/notify/receiver_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/must.h"
#include "server/notify/notice_limits.h"

namespace subak {

void ReceiverQueue::lose(std::size_t count) {
  untold_lost_ += count;
  figures_.lost += count;
}

void ReceiverQueue::add(Notice notice) {
  must(notice.seq > last_seq_, "notices come in the order of their facts");
  last_seq_ = notice.seq;
  if (waiting_.size() >= limits::kMaxNoticesWaiting) {
    waiting_.pop_front();
    lose(1);
  }
  waiting_.push_back(std::move(notice));
}

void ReceiverQueue::saw(std::uint64_t seq) { last_seq_ = std::max(last_seq_, seq); }

void ReceiverQueue::expire(TimeMs now_ms) {
  const TimeMs oldest_ms = now_ms - limits::kMaxNoticeAgeMs;
  if (current_ && !on_the_way_ && !current_->notices.empty() &&
      current_->notices.back().time_ms < oldest_ms) {
    give_up();
  }
  while (!waiting_.empty() && waiting_.front().time_ms < oldest_ms) {
    waiting_.pop_front();
    lose(1);
  }
}

// A start counts for a whole window, so a window never has more than the limit.
std::size_t ReceiverQueue::free_starts(DurationMs monotonic_ms) const {
  const auto recent =
      std::upper_bound(begun_.begin(), begun_.end(), monotonic_ms - limits::kNoticeWindowMs);
  const auto used = static_cast<std::size_t>(std::distance(recent, begun_.end()));
  return limits::kNoticesPerWindow - std::min(used, limits::kNoticesPerWindow);
}

std::optional<DurationMs> ReceiverQueue::due_in(DurationMs monotonic_ms) const {
  if (on_the_way_) return std::nullopt;
  if (!current_ && waiting_.empty() && untold_lost_ == 0) return std::nullopt;
  DurationMs due_ms = not_before_ms_;
  if (!current_ && free_starts(monotonic_ms) == 0) {
    due_ms = std::max(due_ms, begun_.front() + limits::kNoticeWindowMs);
  }
  return std::max<DurationMs>(due_ms - monotonic_ms, 0);
}

const NoticeMessage& ReceiverQueue::begin(DurationMs monotonic_ms) {
  must(due_in(monotonic_ms) == 0, "a message is due");
  on_the_way_ = true;
  if (current_) return *current_;
  const std::size_t starts = free_starts(monotonic_ms);
  current_.emplace();
  refusals_ = 0;
  if (untold_lost_ > 0) {
    current_->lost = untold_lost_;
    current_->lost_seq = done_seq();
  } else {
    const std::size_t count = waiting_.size() > starts ? waiting_.size() : 1;
    const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(count);
    current_->notices.assign(std::make_move_iterator(waiting_.begin()),
                             std::make_move_iterator(end));
    waiting_.erase(waiting_.begin(), end);
  }
  begun_.push_back(monotonic_ms);
  if (begun_.size() > limits::kNoticesPerWindow) begun_.pop_front();
  return *current_;
}

void ReceiverQueue::give_up() {
  untold_lost_ -= current_->lost;
  lose(current_->notices.size());
  current_.reset();
}

void ReceiverQueue::answered(const CallAnswer& answer, DurationMs monotonic_ms,
                             std::uint32_t random) {
  must(on_the_way_ && current_, "an answer is to a message");
  on_the_way_ = false;
  if (answer.outcome == Outcome::kDone) {
    figures_.sent += current_->notices.size();
    figures_.error.clear();
    untold_lost_ -= current_->lost;
    current_.reset();
    backoff_.reset();
    return;
  }
  ++figures_.failed;
  figures_.error = answer.message;
  const DurationMs wait_ms = backoff_.next();
  const DurationMs jittered_ms = wait_ms - static_cast<DurationMs>(random) % (wait_ms / 2 + 1);
  not_before_ms_ = monotonic_ms + std::max(jittered_ms, answer.delay_ms);
  const bool refused = answer.outcome == Outcome::kRefused || answer.outcome == Outcome::kInvalid;
  if (refused && ++refusals_ >= limits::kMaxNoticeRefusals) give_up();
}

std::uint64_t ReceiverQueue::done_seq() const {
  if (current_ && !current_->notices.empty()) return current_->notices.front().seq - 1;
  return waiting_.empty() ? last_seq_ : waiting_.front().seq - 1;
}

NoticeFigures ReceiverQueue::figures() const {
  NoticeFigures out = figures_;
  out.waiting = waiting_.size() + (current_ ? current_->notices.size() : 0);
  return out;
}

}  // namespace subak

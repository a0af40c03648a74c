// The queue of one receiver: order, bounds, waits, summaries, losses. Time is a number here.
#include "server/notify/receiver_queue.h"

#include <gtest/gtest.h>

#include "core/limits.h"
#include "server/notify/notice_limits.h"

namespace subak {
namespace {

constexpr TimeMs kNow = 1'767'225'600'000;

Notice notice(std::uint64_t seq, TimeMs time_ms = kNow) {
  Notice out;
  out.seq = seq;
  out.time_ms = time_ms;
  return out;
}

CallAnswer answer(int status, const char* retry_after = "") {
  return read_answer(status, retry_after, "");
}

struct Queue : ReceiverQueue {
  Queue() : ReceiverQueue(0, 0) {}
  // Sends what is due now. Returns the id of the message.
  std::string send(DurationMs at, int status, const char* retry_after = "") {
    const std::string id = begin(at).id();
    answered(answer(status, retry_after), at, 0);
    return id;
  }
};

TEST(ReceiverQueue, NoticesGoOneAfterTheOther) {
  Queue queue;
  EXPECT_EQ(queue.due_in(0), std::nullopt);
  queue.add(notice(4));
  queue.add(notice(7));
  queue.saw(9);
  EXPECT_EQ(queue.done_seq(), 3u);
  EXPECT_EQ(queue.due_in(0), 0);
  EXPECT_EQ(queue.begin(0).id(), "4");
  EXPECT_EQ(queue.due_in(0), std::nullopt);  // one at a time
  EXPECT_EQ(queue.figures().waiting, 2u);
  EXPECT_EQ(queue.done_seq(), 3u);
  queue.answered(answer(204), 0, 0);
  EXPECT_EQ(queue.done_seq(), 6u);
  EXPECT_EQ(queue.send(0, 200), "7");
  EXPECT_EQ(queue.done_seq(), 9u);
  EXPECT_EQ(queue.figures().sent, 2u);
  EXPECT_EQ(queue.figures().waiting, 0u);
}

TEST(ReceiverQueue, AFailureIsRepeatedWithAGrowingWait) {
  Queue queue;
  queue.add(notice(1));
  queue.add(notice(2));
  DurationMs at = 0, wait = 0;
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(queue.send(at, i % 2 == 0 ? 500 : 302), "1");
    const DurationMs next = queue.due_in(at).value();
    EXPECT_GE(next, wait);
    wait = next;
    EXPECT_EQ(queue.due_in(at + wait - 1), 1);
    at += wait;
  }
  EXPECT_EQ(wait, limits::kMaxEdgeRetryMs);
  EXPECT_EQ(queue.figures().failed, 12u);
  EXPECT_FALSE(queue.figures().error.empty());
  EXPECT_EQ(queue.send(at, 200), "1");
  EXPECT_EQ(queue.due_in(at), 0);  // the next one is not late
  EXPECT_EQ(queue.figures().error, "");
  EXPECT_EQ(queue.send(at, 503), "2");
  EXPECT_EQ(queue.due_in(at), limits::kEdgeRetryMs);  // the waits begin again
}

TEST(ReceiverQueue, RandomnessShortensAWaitByUpToAHalf) {
  DurationMs least = limits::kEdgeRetryMs, most = 0;
  for (std::uint32_t random = 0; random < 1000; ++random) {
    Queue queue;
    queue.add(notice(1));
    queue.begin(0);
    queue.answered(answer(0), 0, random);
    least = std::min(least, *queue.due_in(0));
    most = std::max(most, *queue.due_in(0));
  }
  EXPECT_EQ(least, limits::kEdgeRetryMs / 2);
  EXPECT_EQ(most, limits::kEdgeRetryMs);
}

TEST(ReceiverQueue, TheReceiverMayAskForALongerWait) {
  Queue queue;
  queue.add(notice(1));
  queue.send(0, 429, "7");
  EXPECT_EQ(queue.due_in(0), 7'000);
  queue.send(7'000, 503, "1000000");
  EXPECT_EQ(queue.due_in(7'000), limits::kMaxRetryAfterMs);
}

TEST(ReceiverQueue, MoreThanTwentyAMinuteBecomeOne) {
  Queue queue;
  std::uint64_t seq = 0;
  DurationMs at = 0;
  for (std::size_t i = 0; i < limits::kNoticesPerWindow; ++i, at += 10) {
    queue.add(notice(++seq));
    EXPECT_EQ(queue.send(at, 200), std::to_string(seq));
  }
  queue.add(notice(++seq));
  EXPECT_EQ(queue.due_in(at), limits::kNoticeWindowMs - at);
  for (int i = 0; i < 30; ++i) queue.add(notice(++seq));
  at = limits::kNoticeWindowMs;
  ASSERT_EQ(queue.due_in(at), 0);
  const NoticeMessage& summary = queue.begin(at);
  EXPECT_EQ(summary.id(), "21-51");
  EXPECT_EQ(summary.notices.size(), 31u);
  queue.answered(answer(500), at, 0);
  queue.add(notice(++seq));
  at += *queue.due_in(at);
  EXPECT_EQ(queue.begin(at).notices.size(), 31u);  // a repeated message stays as it was
  queue.answered(answer(200), at, 0);
  EXPECT_EQ(queue.figures().sent, 51u);
  EXPECT_EQ(queue.done_seq(), 51u);
}

// After an outage, all that waits is told at once.
TEST(ReceiverQueue, WhatWaitedForLongBecomesOne) {
  Queue queue;
  for (std::uint64_t seq = 1; seq <= 300; ++seq) {
    queue.add(notice(seq));
    if (seq == 1) queue.send(0, 500);
  }
  EXPECT_EQ(queue.send(600'000, 200), "1");
  EXPECT_EQ(queue.send(600'000, 200), "2-300");
  EXPECT_EQ(queue.figures().lost, 0u);
  EXPECT_EQ(queue.due_in(600'000), std::nullopt);
}

TEST(ReceiverQueue, TheOldestIsLostAndTheLossIsTold) {
  Queue queue;
  const std::uint64_t all = limits::kMaxNoticesWaiting + 5;
  for (std::uint64_t seq = 1; seq <= all; ++seq) queue.add(notice(seq));
  EXPECT_EQ(queue.figures().lost, 5u);
  EXPECT_EQ(queue.figures().waiting, limits::kMaxNoticesWaiting);
  EXPECT_EQ(queue.done_seq(), 5u);
  const NoticeMessage& lost = queue.begin(0);
  EXPECT_EQ(lost.id(), "lost-5");
  EXPECT_EQ(lost.lost, 5u);
  queue.add(notice(all + 1));  // one more is lost meanwhile
  queue.answered(answer(200), 0, 0);
  EXPECT_EQ(queue.untold_lost(), 1u);
  EXPECT_EQ(queue.send(0, 200), "lost-6");
  EXPECT_EQ(queue.untold_lost(), 0u);
  EXPECT_EQ(queue.send(0, 200), "7-" + std::to_string(all + 1));
}

TEST(ReceiverQueue, AnOldNoticeIsLostUnlessItIsOnTheWay) {
  Queue queue;
  for (std::uint64_t seq = 1; seq <= 3; ++seq) queue.add(notice(seq));
  queue.add(notice(4, kNow + limits::kMaxNoticeAgeMs));
  queue.begin(0);
  queue.expire(kNow + limits::kMaxNoticeAgeMs);
  EXPECT_EQ(queue.figures().lost, 0u);
  queue.expire(kNow + limits::kMaxNoticeAgeMs + 1);
  EXPECT_EQ(queue.figures().lost, 2u);
  queue.answered(answer(500), 0, 0);
  queue.expire(kNow + limits::kMaxNoticeAgeMs + 1);
  EXPECT_EQ(queue.figures().lost, 3u);
  EXPECT_EQ(queue.done_seq(), 3u);
}

TEST(ReceiverQueue, AMessageThatIsRefusedDoesNotStopTheOthers) {
  Queue queue;
  queue.add(notice(1));
  queue.add(notice(2));
  DurationMs at = 0;
  for (std::uint32_t i = 0; i < limits::kMaxNoticeRefusals; ++i, at += limits::kMaxEdgeRetryMs) {
    EXPECT_EQ(queue.send(at, i % 2 == 0 ? 400 : 422), "1");
  }
  EXPECT_EQ(queue.figures().lost, 1u);
  for (std::uint32_t i = 0; i < limits::kMaxNoticeRefusals; ++i, at += limits::kMaxEdgeRetryMs) {
    EXPECT_EQ(queue.send(at, 400), "lost-1");  // and this one is not told again for ever
  }
  EXPECT_EQ(queue.send(at, 200), "2");
  EXPECT_EQ(queue.figures().lost, 1u);
}

TEST(ReceiverQueue, LossesOfAnEarlierProcessAreTold) {
  ReceiverQueue queue(40, 6);
  EXPECT_EQ(queue.begin(0).id(), "lost-40");
  EXPECT_EQ(queue.figures().lost, 0u);  // the earlier process counted them
}

}  // namespace
}  // namespace subak

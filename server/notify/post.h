// Sends one message to a receiver, by an HTTP POST with libcurl. The sender follows no redirect and
// uses no proxy. Of the answer it reads the status, the header Retry-After and the body. Threads:
// one thread calls send(); any thread may call stop().
#pragma once

#include <atomic>
#include <string>

#include "server/edge/client/answer.h"
#include "server/notify/receivers.h"

namespace subak {

// The sender of one receiver.
class NoticePost {
 public:
  // Sends `body`, with `id` in the header Subak-Notice. If the receiver has a secret, it also sends
  // the signature. `at_ms`: the time, for the signature. Blocks for at most limits::kNoticePostMs.
  // The call fails if there is no answer in time, if the answer is a redirect, or if the body of
  // the answer is longer than limits::kMaxNoticeAnswerBytes.
  CallAnswer send(const NoticeReceiver& receiver, const std::string& id, const std::string& body,
                  TimeMs at_ms);
  // Makes the present call of send() fail within about a second, and each later call too.
  void stop() { stopping_ = true; }

 private:
  std::atomic<bool> stopping_{false};
};

}  // namespace subak

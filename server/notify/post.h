// Sends one message to a receiver, by libcurl. It follows no redirect, uses no proxy, and ignores
// what the receiver says beyond the status, the header Retry-After and the begin of the body.
// Threads: one thread calls send(); any thread may call stop().
#pragma once

#include <atomic>
#include <string>

#include "server/edge/client/answer.h"
#include "server/notify/receivers.h"

namespace subak {

// The sender of one receiver.
class NoticePost {
 public:
  // Sends `body` with the header Subak-Notice: `id`, and with the signature if the receiver has a
  // secret. `at_ms`: the time, for the signature. Blocks for at most limits::kNoticePostMs. A
  // redirect is a failure, and so is no answer in time.
  CallAnswer send(const NoticeReceiver& receiver, const std::string& id, const std::string& body,
                  TimeMs at_ms);
  // Ends the present call of send() within about a second, and each later call.
  void stop() { stopping_ = true; }

 private:
  std::atomic<bool> stopping_{false};
};

}  // namespace subak

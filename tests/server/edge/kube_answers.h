// An API server for tests of the edge: it stores each call, and answers it at once with `answer`
// and `body`, which the test sets. Threads: one at a time.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/edge/client/client.h"

namespace subak {

class AnswersAtOnce final : public KubeApi {
 public:
  bool call(KubeCall call, Answered answered) override {
    calls.push_back(std::move(call));
    const std::optional<CallAnswer> once = std::exchange(next, std::nullopt);
    answered(once.value_or(answer), body);
    return true;
  }
  WatchId watch(std::string, WatchStream::Take, Ended) override { return 0; }
  void stop(WatchId) override {}
  void turn(DurationMs) override {}
  void wake() override {}

  std::vector<KubeCall> calls;
  CallAnswer answer;
  std::optional<CallAnswer> next;  // replaces `answer` for the next call
  std::string body;
};

}  // namespace subak

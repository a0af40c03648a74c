// Forwards calls of browsers to the API of this process, over a channel within the process. So
// these calls have the same roles, lanes, limits and refusals as other calls of the API. A separate
// thread converts the answers to JSON, so that the threads of gRPC and of the HTTP port do not
// wait.
#pragma once

#include <google/protobuf/descriptor.h>
#include <grpcpp/support/status.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "core/quantity.h"
#include "server/runtime/fair_queue.h"
#include "threads/mutex.h"

namespace grpc {
class Channel;
}

namespace subak::browser {

// A call to forward.
struct Asked {
  // One of find_read(); never nullptr.
  const google::protobuf::MethodDescriptor* method = nullptr;
  // The request as protobuf bytes.
  std::string message;
  // "Bearer TOKEN", "Session SECRET", or empty.
  std::string authorization;
  // The metadata subak-inside: Sessions::own(), a blank, and the browser's address for logs.
  std::string peer;
  // The caller in queues in which callers take turns: a digest of the authorization, or the
  // address.
  std::string caller;
  // The metadata subak-min-sequence: a fact that the answer must include; empty: none.
  std::string min_sequence;
  // The metadata subak-at: the earlier moment that the read shows; empty: the present.
  std::string at;
  DurationMs timeout_ms = 0;
};

// The answer to a call.
struct Answered {
  grpc::Status status;
  // The response as JSON, as `subak --output json` prints it, but in one line. Empty after an
  // error.
  std::string json;
  // The metadata subak-sequence: the last fact that the answer includes; empty: there is none.
  std::string sequence;
  // The metadata subak-time: the moment that the answer shows, in ms since 1970. Empty: the answer
  // shows the present.
  std::string time;
  // The values of subak-leads, subak-epoch and subak-behind-ms, which name the replica that
  // answered; empty: there are none (server/api/calls/shared.h).
  std::string leads{}, epoch{}, behind_ms{};
};

// The calls in flight of one process. Threads: any, between start() and stop().
class Calls {
 public:
  using Done = std::function<void(Answered)>;
  Calls();
  ~Calls();  // stop()
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  // Starts the thread. Until then, ask() answers UNAVAILABLE.
  void start(std::shared_ptr<grpc::Channel> channel);
  // Cancels the calls in flight, waits for their answers, and joins the thread. After that, ask()
  // answers UNAVAILABLE.
  void stop();
  // Calls `done` once: at once with a refusal, or later on the thread of this object. Beyond
  // limits::kMaxBrowserCalls and kMaxBrowserCallsPerCaller the answer is RESOURCE_EXHAUSTED.
  void ask(Asked asked, Done done);

 private:
  struct Flight;
  // Counts the call and returns OK. Any other status: a limit is reached, or this object does not
  // run.
  grpc::Status enter(const std::shared_ptr<Flight>& flight);
  // Queues the conversion of an answer, on a thread of gRPC.
  void arrived(const std::shared_ptr<Flight>& flight, const grpc::Status& status);
  void work();
  // Converts the answer to JSON, and calls Done.
  void finish(Flight& flight);

  std::shared_ptr<grpc::Channel> channel_;
  Mutex mutex_;
  // `wake_` wakes the thread, and `landed_` wakes stop().
  CondVar wake_, landed_;
  bool running_ SUBAK_GUARDED_BY(mutex_) = false;
  std::set<std::shared_ptr<Flight>> flights_ SUBAK_GUARDED_BY(mutex_);
  // The number of flights of each caller; above 0.
  std::map<std::string, std::size_t> callers_ SUBAK_GUARDED_BY(mutex_);
  // Answers that wait for their conversion, and the sum of their sizes.
  FairQueue<std::shared_ptr<Flight>> answers_ SUBAK_GUARDED_BY(mutex_);
  std::size_t answer_bytes_ SUBAK_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

}  // namespace subak::browser

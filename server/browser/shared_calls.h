// Lets browsers that make the same call share one answer. After a change, all open console pages
// read the same state at about the same time. With 200 pages, the service would compute each answer
// 200 times. So the gateway (gateway.h) makes its calls through `SharedCalls`, which passes them to
// `Calls` (calls.h).
//
// The first call is sent at once. An equal call within limits::kSharedCallMs after that waits until
// the time is over. Then one call is sent for all callers that wait, and all of them get its
// answer.
//
// - A caller shares only a call that is sent after the caller asked. So it never gets an old
//   answer.
// - A caller that repeats its call, while no other caller makes an equal one, never waits.
// - Two calls are equal if method, request, moment, time limit and rights are equal.
// - An error is not shared: if the common call fails, the calls of all other callers are sent.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/quantity.h"
#include "server/api/common/auth.h"
#include "server/browser/calls.h"
#include "threads/mutex.h"

namespace subak::browser {

// What SharedCalls uses.
struct SharedCallsPorts {
  // Sends a call, and calls Done once: at once or later, on any thread. Calls::ask().
  std::function<void(Asked, Calls::Done)> ask;
  // Returns the time by a monotonic clock, in ms.
  std::function<DurationMs()> monotonic_ms;
};

// The shared calls of one process. Threads: any may call ask(); one thread calls start() and
// stop(). All answers must have come before the object is destroyed.
class SharedCalls {
 public:
  explicit SharedCalls(SharedCallsPorts ports) : ports_(std::move(ports)) {}
  ~SharedCalls();  // stop()
  SharedCalls(const SharedCalls&) = delete;
  SharedCalls& operator=(const SharedCalls&) = delete;

  // Starts the thread that sends the calls that wait. A test may call turn() in its place.
  void start();
  // Sends all calls that wait, and joins the thread. After that, ask() sends each call at once.
  void stop();
  // Calls `done` once, with an answer of its own or a shared one. `rights`: what the caller may
  // read, such as its role; empty: the caller is unknown, and its call is sent as it is. A call
  // with Asked::min_sequence is sent as it is too. At most limits::kMaxBrowserCalls callers wait,
  // and of one caller kMaxBrowserCallsPerCaller calls. Beyond that, a call is sent as it is.
  void ask(Asked asked, std::string_view rights, Calls::Done done);
  // Sends the waiting calls that are due. Returns after how many ms it must be called again;
  // nullopt: no call was sent lately, so it has nothing to do.
  std::optional<DurationMs> turn();

 private:
  struct Asker {
    Asked asked;
    Calls::Done done;
  };
  using Askers = std::vector<Asker>;
  // The calls that equal one which was sent within the last kSharedCallMs.
  struct Question {
    // When the next equal call may be sent.
    DurationMs next_ms = 0;
    // The caller of the last call; empty: that call was sent for all callers that waited.
    std::string caller;
    // The callers that wait for that call.
    Askers askers;
  };
  // True: the asker waits, and `asker` is moved away. False: send its call now.
  bool waits(const api::TokenDigest& question, Asker& asker);
  // Takes the callers whose wait is over at `now`, and forgets the questions for which none waits.
  std::vector<Askers> take_due(DurationMs now) SUBAK_REQUIRES(mutex_);
  void send(Askers askers);
  void answer(const Askers& askers, Answered answered);
  void work();

  const SharedCallsPorts ports_;
  Mutex mutex_;
  CondVar wake_;
  bool stopped_ SUBAK_GUARDED_BY(mutex_) = false;
  // By the digest of the question.
  std::map<api::TokenDigest, Question> questions_ SUBAK_GUARDED_BY(mutex_);
  // The callers that wait for a shared answer, and how many calls of each; above 0.
  std::map<std::string, std::size_t> callers_ SUBAK_GUARDED_BY(mutex_);
  std::size_t waiting_ SUBAK_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

}  // namespace subak::browser

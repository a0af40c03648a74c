// A faulty connection to the simulated API server; the seed chooses the faults. Calls are answered
// late, in another order, wrongly or never, whether they took effect or not. Watches fall behind,
// repeat events, break, end, or begin too late.
// Threads: one at a time.
#pragma once

#include <deque>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api_objects.h"
#include "sim/read/rng.h"

namespace subak::fault {

// What is wrong with the way to the API server.
struct ApiFaults {
  bool errors = false;      // 409, 422, 429, 500, 504 instead of being done
  bool lost = false;        // done or not or later, and no answer
  bool late = false;        // answers come late and in another order
  bool cuts = false;        // watches end, in order or in the middle
  bool behind = false;      // watches bring nothing for a while
  bool repeats = false;     // events come twice
  bool expires = false;     // versions are too old to go on from
  bool no_streams = false;  // lists come in pages
  bool refuses = false;     // 401 for a while
  bool protects = false;    // nothing may be ended for a while: a disruption budget, a webhook
};

// What the connections of one cluster share; outlives them.
struct ApiServer {
  ApiObjects objects;
  ApiFaults faults;
  bool refusing = false;        // nobody is let in
  bool protecting = false;      // no pod is evicted, no Job suspended
  std::size_t starts_told = 0;  // writes with the words of an expected start
  std::size_t marks = 0;        // writes that mark a pod which is kept closed
  // The writes that let a pod go and were not refused, by the pod's path: each with the node, and with the
  // version of the pod for which it was made.
  std::map<std::string, std::set<std::pair<std::string, std::string>>> let_go{};
  // A write that lets the pod go to this node may still come: the pod has the version for which it was made.
  bool may_let_go(const std::string& pod, const std::string& node);
  // Writes that nobody waits for, as their caller is gone or has given up: on the way, and still to be done.
  std::deque<KubeCall> orphans{};
};

class FakeApi final : public KubeApi {
 public:
  FakeApi(ApiServer& server, sim::Rng& rng) : server_(server), rng_(rng) {}
  ~FakeApi() override;

  bool call(KubeCall call, Answered answered) override;
  WatchId watch(std::string path, WatchStream::Take take, Ended ended) override;
  void stop(WatchId watch) override;
  void turn(DurationMs most) override;
  void wake() override {}

  // The API server does the next call. False: there is none.
  bool serve();
  bool idle() const { return calls_.empty() && answers_.empty(); }

 private:
  struct Call {
    KubeCall call;
    Answered answered;
  };
  struct Ready {
    Answered answered;
    int code = 0;
    std::string body;
  };
  struct Watch {
    WatchId id = 0;
    std::string collection;
    WatchStream::Take take;
    Ended ended;
    WatchStream stream;
    bool lists = false, begun = false, stopped = false;
    std::uint64_t from = 0;  // version after which it goes on
    std::size_t next = 0;    // into the changes
    std::deque<std::string> lines{};
  };
  Ready decide(Call& call);
  Ready refuse(Call& call, int code);
  void begin(Watch& watch);
  void collect(Watch& watch);
  void deliver(Watch& watch);
  void send(Watch& watch, const std::string& bytes);
  void end(Watch& watch, Outcome outcome);
  void break_off(Watch& watch);
  std::string bookmark(const Watch& watch, bool complete) const;

  ApiServer& server_;
  sim::Rng& rng_;
  std::deque<Call> calls_;
  std::deque<Ready> answers_;
  std::list<std::unique_ptr<Watch>> watches_;
  WatchId last_ = 0;
};

}  // namespace subak::fault

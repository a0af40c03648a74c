// A faulty connection between the edge and the simulated API server; the seed chooses the faults.
// An answer may come late, in another order, wrong or never, and the call may have taken effect or
// not. Watches fall behind, repeat events, break, end, or begin from a version that is too old.
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

// The faults of the connection. Each that is true happens at random.
struct ApiFaults {
  bool errors = false;      // calls end with 403, 409, 422, 429, 500 or 504
  bool lost = false;        // calls get no answer; they are done, done later, or never done
  bool late = false;        // answers come late and in another order
  bool cuts = false;        // watches end, between two lines or within a line
  bool behind = false;      // watches bring nothing for a while
  bool repeats = false;     // events come twice
  bool expires = false;     // watches end because their version is too old
  bool no_streams = false;  // a watch cannot begin with a list, so lists come in pages
  bool refuses = false;     // all calls get 401 for a while
  bool protects = false;    // no pod may be ended for a while, as by a PodDisruptionBudget
};

// The API server of one cluster, which all connections share. It must outlive them.
struct ApiServer {
  ApiObjects objects;
  ApiFaults faults;
  bool refusing = false;        // every call gets 401
  bool protecting = false;      // evictions and suspensions of Jobs are refused
  std::size_t starts_told = 0;  // writes with a text about an expected start
  std::size_t marks = 0;        // writes that mark a pod as kept closed
  // The sent patches that open a pod's gate, by the path of the pod. A refused patch is removed.
  // Each has the node to which the pod may go, and the pod's version for which the patch was made.
  std::map<std::string, std::set<std::pair<std::string, std::string>>> let_go{};
  // True if such a patch, for this node and the present version of the pod, may still take effect.
  // `pod`: "namespace/name".
  bool may_let_go(const std::string& pod, const std::string& node);
  // Writes on their way whose caller is gone or has given up. The world carries them out later.
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

  // Lets the API server handle the next call, perhaps with a fault. False: there is no call.
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
    std::uint64_t from = 0;  // the last version whose changes it has
    std::size_t next = 0;    // an index into ApiObjects::changes()
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

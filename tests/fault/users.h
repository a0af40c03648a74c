// Simulated users and programs of a fault world (world.h). They submit, cancel, hold and edit. They
// repeat a request with the same request id until they have an answer.
// Threads: one at a time.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "faults.h"
#include "server/runtime/runtime.h"

namespace subak::fault {

class Users {
 public:
  using Post = std::function<bool(Input, ReplyFn)>;
  using Wrong = std::function<void(const std::string&)>;
  Users(sim::Rng& rng, const Faults& faults, Post post, Wrong wrong);

  // Returns the inputs that set up a world: cluster, policy and accounts. `reclaims`: the policy
  // has `reclaim: on`. This needs no random number, so the rest of the world is the same.
  static std::vector<in::Body> set_up(sim::Rng& rng, bool reclaims);
  void act();
  // Says that the service has crashed, so answers in flight are lost.
  void crashed();
  // Call it after the last fault. Repeats the requests without an answer. False: there are none.
  bool finish();
  // The acknowledged jobs, by request id.
  const std::map<std::string, JobId>& submitted() const { return submitted_; }
  const std::map<std::string, JobId>& cancelled() const { return cancelled_; }

 private:
  struct Request {
    Input input;
    bool asked = false;     // the request was sent, and its answer may come
    bool answered = false;  // answered; stored so that the user can repeat the request
    Reply reply;
  };
  in::Body choose();
  in::Body submit();
  in::Body edit();
  JobId some_job();
  void ask(Request& request);
  void answered(const std::string& id, const Reply& reply);

  sim::Rng& rng_;
  const Faults faults_;
  Post post_;
  Wrong wrong_;
  std::map<std::string, Request> requests_;
  std::map<std::string, JobId> submitted_, cancelled_;
  std::uint64_t serial_ = 0;
};

}  // namespace subak::fault

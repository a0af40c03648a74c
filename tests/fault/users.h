// Simulated users and programs. They submit, cancel, hold and edit, each time with a request id.
// They repeat a request with the same id until they have an answer.
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

  // The world before anything happens: cluster, policy, accounts. `reclaims`: the policy takes GPUs
  // back. That draws nothing, so the rest of the world is the same.
  static std::vector<in::Body> set_up(sim::Rng& rng, bool reclaims);
  void act();
  // Answers that were on their way are lost.
  void crashed();
  // Faults are over: asks again for what was never answered. False: nothing is left to ask.
  bool finish();
  // What was acknowledged: job ids by request id.
  const std::map<std::string, JobId>& submitted() const { return submitted_; }
  const std::map<std::string, JobId>& cancelled() const { return cancelled_; }

 private:
  struct Request {
    Input input;
    bool asked = false;     // and the answer may come
    bool answered = false;  // kept to ask twice
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

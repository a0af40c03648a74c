// The edge of a fault world's cluster (world.h): it reports the cluster to the service by a list
// and then by events, and carries out effects. Its connection loses, repeats, reorders and delays
// messages. The next list must correct each mistake that this causes.
// Threads: one at a time.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "cluster.h"
#include "server/runtime/runtime.h"

namespace subak::fault {

class Edge {
 public:
  // Posts an input to the service. False: the service accepts no input now.
  using Post = std::function<bool(in::Body, std::uint64_t session, ReplyFn)>;
  using Delivered = std::function<void(const Effect&)>;
  // Returns the number of the session that begins now. The API gives one to each list_begin.
  using NewSession = std::function<std::uint64_t()>;
  Edge(Cluster& cluster, sim::Rng& rng, const Faults& faults, Post post, NewSession number,
       Delivered delivered);

  bool connected() const { return stream_ != nullptr; }
  // Subscribes to effects and begins a list. If that fails, the edge stays disconnected.
  void connect(Runtime& runtime, ClusterId id);
  // Ends the connection. Messages in flight are lost, except those that a fault delays.
  void disconnect();
  void relist();
  // Sends the next event or a delayed one to the service.
  void send();
  // Carries out one effect.
  void carry_out();
  void heal(const Faults& none);
  // Sends all events and carries out all effects. False: there were none.
  bool pump();

 private:
  void follow_watch();
  void list();
  bool send_first();  // false: there is nothing, or no room for it
  bool post(const in::Body& body);
  void on_reply(const in::Body& body, const Reply& reply);
  void collect();
  void apply(const Effect& effect);

  Cluster& cluster_;
  sim::Rng& rng_;
  Faults faults_;
  Post post_;
  NewSession new_session_;
  Delivered delivered_;
  std::uint64_t session_ = kNoSession;
  std::shared_ptr<EffectStream> stream_;
  bool unlisted_ = false;        // a list is to be taken once its begin is sent
  std::size_t cursor_ = 0;       // into the cluster's log
  std::deque<in::Body> outbox_;  // to be sent in this order
  std::vector<in::Body> late_;   // to be sent at any time, even on the next connection
  std::deque<Effect> effects_;
  std::vector<Effect> late_effects_;
};

}  // namespace subak::fault

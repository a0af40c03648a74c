// Reports to the core what the edge sees, and takes the answers. Pods that the core has no room for
// are put off: they stay behind their gate, their status shows why, and they are sent again.
//
// It owns the pods that are put off and what the core knows of the time up to which the watch
// reported. The updates themselves wait in the cache's Outbox. Threads: the edge's.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "core/limits.h"
#include "server/edge/cluster/edge_context.h"
#include "server/edge/cluster/edge_session.h"
#include "server/edge/cluster/notices.h"
#include "server/edge/cluster/watches.h"
#include "server/edge/writes/write_queue.h"

namespace subak {

class Reports {
 public:
  // All outlive it.
  Reports(EdgeContext& context, EdgeSession& session, const Watches& watches, WriteQueue& queue,
          Notices& notices)
      : context_(context), session_(session), watches_(watches), queue_(queue), notices_(notices) {}
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;

  // Sends the updates that wait, limits::kMaxEdgePosts without a reply at most.
  void tell();
  // Reports the time up to which all changes of pods are known. Call while the session follows.
  void say_until();
  // Sends pods that are put off again when they are due.
  void tell_put_off();
  // The session has ended: drops the pods that are put off.
  void forget() { put_off_.clear(); }

  // The number of updates that the core refused.
  std::uint64_t not_taken() const { return not_taken_; }
  // The number of pods that wait until the core has room for them.
  std::size_t put_off() const { return put_off_.size(); }
  // Returns the time until tell() or tell_put_off() has work; limits::kLoopMaxWaitMs at most.
  DurationMs due_in() const;

 private:
  // Takes the core's answer to an update. A full queue puts the pod off; a wrong session ends the
  // session.
  void on_reply(const News& news, const Reply& reply);
  // Puts a pod off. `words`: the core's, for its status.
  void put_off_pod(const std::string& uid, const std::string& words);
  // Returns the present time of the clock by which the update's times were read; 0: not known.
  TimeMs said_at(const News& news) const;
  // Returns the version for Outbox::next().
  std::uint64_t pods_version() const;

  EdgeContext& context_;
  EdgeSession& session_;
  const Watches& watches_;
  WriteQueue& queue_;
  Notices& notices_;
  // The part of Watches::heard_ms() that the core knows.
  TimeMs said_until_ms_ = 0;
  std::uint64_t not_taken_ = 0;
  // By uid, first in first out.
  std::deque<std::string> put_off_;
  // How many are sent again at once. It doubles while the core takes all of them.
  std::size_t put_off_at_once_ = limits::kPutOffRetries;
  // The core refused one of those that were sent again last.
  bool put_off_again_ = false;
  // When the next ones are sent again, monotonic.
  std::int64_t put_off_due_ms_ = 0;
};

}  // namespace subak

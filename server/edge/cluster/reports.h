// Reports changes of the cluster to the core (the engine that decides), and handles the core's
// answers. If the core has no room for a pod, the pod is put off. Such a pod stays gated, its
// status shows why, and the edge sends the pod again later.
//
// Reports owns the list of pods that are put off, and the time up to which the core knows all
// changes of pods. The updates themselves wait in the cache's Outbox. Threads: the edge's thread.
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

// The reports of one edge. Each turn of the edge calls tell() and, while the session follows,
// say_until() and tell_put_off().
class Reports {
 public:
  // All arguments must outlive this object.
  Reports(EdgeContext& context, EdgeSession& session, const Watches& watches, WriteQueue& queue,
          Notices& notices)
      : context_(context), session_(session), watches_(watches), queue_(queue), notices_(notices) {}
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;

  // Sends waiting updates. At most limits::kMaxEdgePosts may be without a reply.
  void tell();
  // Reports the time up to which all changes of pods are known. Call it while
  // EdgeSession::follows().
  void say_until();
  // When it is due, takes the first pods from the list of pods that are put off, and lets the cache
  // report them again (ClusterCache::tell_again()).
  void tell_put_off();
  // Drops the list of pods that are put off. Call it when the session has ended.
  void forget() { put_off_.clear(); }

  // The number of updates that the core refused.
  std::uint64_t not_taken() const { return not_taken_; }
  // The number of pods that wait until the core has room for them.
  std::size_t put_off() const { return put_off_.size(); }
  // Returns the time until tell() or tell_put_off() has work, at most limits::kLoopMaxWaitMs.
  DurationMs due_in() const;

 private:
  // Takes the core's answer to an update. If the core's queue is full, it puts the pod off. If the
  // core names a newer session, on_reply() ends this session.
  void on_reply(const News& news, const Reply& reply);
  // Puts a pod off. `words`: the core's message, for the pod's status.
  void put_off_pod(const std::string& uid, const std::string& words);
  // Returns the present time by the clock that set the times in `news`; 0: not known.
  TimeMs said_at(const News& news) const;
  // Returns the argument for Outbox::next(): the version up to which the watch of pods has
  // reported. Before the session follows, it is Outbox::kAllPodsKnown.
  std::uint64_t pods_version() const;

  EdgeContext& context_;
  EdgeSession& session_;
  const Watches& watches_;
  WriteQueue& queue_;
  Notices& notices_;
  // The last value of Watches::heard_ms() that the core got.
  TimeMs said_until_ms_ = 0;
  std::uint64_t not_taken_ = 0;
  // The uids of pods that are put off, first in first out.
  std::deque<std::string> put_off_;
  // How many pods from `put_off_` are sent again at once. The number doubles while the core accepts
  // all of these pods.
  std::size_t put_off_at_once_ = limits::kPutOffRetries;
  // True: the core refused one of the pods that were sent again last.
  bool put_off_again_ = false;
  // When the next pods are sent again, by the monotonic clock.
  std::int64_t put_off_due_ms_ = 0;
};

}  // namespace subak

// Opens Subak's scheduling gate of pods that Subak does not manage ("strays"). Strays are pods of
// namespaces whose mode is not enforce, and pods without GPUs that were gated by mistake. The
// scheduler chooses their node. In namespaces whose mode is not enforce, the edge makes no other
// write.
//
// Strays owns the list of pods whose gates it opens next. Threads: the edge's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "server/edge/cluster/edge_context.h"
#include "server/edge/cluster/edge_session.h"
#include "server/edge/cluster/writes.h"

namespace subak {

// The strays of one edge.
class Strays {
 public:
  // `context`, `session` and `writes` outlive this object.
  Strays(EdgeContext& context, const EdgeSession& session, Writes& writes)
      : context_(context), session_(session), writes_(writes) {}
  Strays(const Strays&) = delete;
  Strays& operator=(const Strays&) = delete;

  // Opens at most one gate, if that is due. So the edge opens at most limits::kOpenedPerSecond
  // gates a second. Call it while EdgeSession::follows().
  void open();
  // Drops the list of pods. Call it when the session has ended.
  void forget() { strays_.clear(); }
  // Returns the time until open() has work, at most limits::kLoopMaxWaitMs.
  DurationMs due_in() const;

 private:
  // True if Subak's gate of the pod must be opened, and the scheduler must choose the node.
  bool is_stray(const std::string& uid, const ClusterView& cluster) const;
  // Requests the order in which strays are opened. The answer fills `strays_` later.
  void find(const ClusterView& cluster);

  EdgeContext& context_;
  const EdgeSession& session_;
  Writes& writes_;
  // The uids of strays, first in first out. Some of the pods may no longer be strays.
  std::deque<std::string> strays_;
  // True: the order of the queue is being read.
  bool finding_ = false;
  // When the next gate may be opened, by the monotonic clock.
  std::int64_t due_ms_ = 0;
};

}  // namespace subak

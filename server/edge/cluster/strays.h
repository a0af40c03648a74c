// Opens Subak's gate of pods that Subak does not manage: pods outside the mode enforce, and pods
// without GPUs that were gated by mistake. Their node is left to the scheduler. That is the only
// write outside enforce.
//
// It owns the pods to open next. Threads: the edge's.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "server/edge/cluster/edge_context.h"
#include "server/edge/cluster/edge_session.h"
#include "server/edge/cluster/writes.h"

namespace subak {

class Strays {
 public:
  // All outlive it.
  Strays(EdgeContext& context, const EdgeSession& session, Writes& writes)
      : context_(context), session_(session), writes_(writes) {}
  Strays(const Strays&) = delete;
  Strays& operator=(const Strays&) = delete;

  // Opens a gate if one is due, limits::kOpenedPerSecond at most. Call while the session follows.
  void open();
  // The session has ended: drops the pods to open.
  void forget() { strays_.clear(); }
  // Returns the time until open() has work; limits::kLoopMaxWaitMs at most.
  DurationMs due_in() const;

 private:
  // True if Subak's gate must be opened without a node.
  bool is_stray(const std::string& uid, const ClusterView& cluster) const;
  // Asks for the order in which stray pods are opened. The answer fills `strays_` later.
  void find(const ClusterView& cluster);

  EdgeContext& context_;
  const EdgeSession& session_;
  Writes& writes_;
  // By uid, first in first out. Some may be no strays any more.
  std::deque<std::string> strays_;
  // The order of the queue is being read.
  bool finding_ = false;
  // When the next gate may be opened, monotonic.
  std::int64_t due_ms_ = 0;
};

}  // namespace subak

// The order of the queue as lists and explanations show it: made once for all readers. Of a long
// queue it may be a second old, since making it costs a part of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/ids.h"
#include "engine/engine.h"
#include "server/runtime/ports.h"

namespace subak::api {

// Threads: the follower's.
class QueueOrder {
 public:
  explicit QueueOrder(const Clock& clock) : clock_(clock) {}

  struct Picture {
    std::vector<JobId> ids;  // next job first
    bool whole = false;      // nothing waits behind these
  };
  // The first `least` jobs or more, or all that there are. What has left the queue since may still
  // be in it. Good until the next call.
  const Picture& first(const Engine& engine, std::size_t least);
  // From 1; 0: it does not wait.
  std::size_t position(const Engine& engine, JobId id);

 private:
  bool fits(const Engine& engine, std::size_t least) const;
  void make(const Engine& engine, std::size_t least);

  const Clock& clock_;
  Picture picture_;
  bool made_ = false;
  std::uint64_t seq_ = 0;
  DurationMs made_ms_ = 0;
};

}  // namespace subak::api

// The collector of figures that require a look at every job that waits or holds GPUs. It collects
// at a scrape, but at most every limits::kSurveyEveryMs, and so rarely that it costs at most a
// fiftieth of a core. In between, a scrape gets the last figures. Threads: look() on the follower's
// only.
#pragma once

#include <cstdint>
#include <map>

#include "engine/engine.h"
#include "server/metrics/events.h"
#include "server/runtime/ports.h"

namespace subak::metrics {

// Has the last figures and the queue positions of then.
class Surveyor {
 public:
  // Both outlive it.
  Surveyor(const Clock& clock, Events& events) : clock_(clock), events_(events) {}
  // Returns the figures of now, or the last ones if those are new enough. They are valid until the
  // next call. After a collection, counts in `events` how many waiting jobs moved back.
  // Costs one look at each job that waits or holds GPUs, if it collects.
  const Survey& look(const Engine& engine);

 private:
  // Compares the head of the queue with that of the last collection.
  void follow_positions();

  const Clock& clock_;
  Events& events_;
  // The last figures.
  Survey survey_;
  // By job: its index in the `head` of those figures.
  std::map<JobId, std::size_t> positions_;
  // False: nothing was collected yet.
  bool taken_ = false;
  // When the next collection may begin, on the monotonic clock.
  std::int64_t next_ms_ = 0;
};

}  // namespace subak::metrics

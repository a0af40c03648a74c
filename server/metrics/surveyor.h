// Collects the figures that require a look at every job that waits or holds GPUs. It collects at a
// scrape, but at most every limits::kSurveyEveryMs. It takes at most a fiftieth of a core, and
// collects more rarely if needed. In between, a scrape gets the last figures. Threads: look() only
// on the follower's.
#pragma once

#include <cstdint>
#include <map>

#include "engine/engine.h"
#include "server/metrics/events.h"
#include "server/runtime/ports.h"

namespace subak::metrics {

// Stores the last figures, and the queue positions at that time.
class Surveyor {
 public:
  // `clock` and `events` outlive this object.
  Surveyor(const Clock& clock, Events& events) : clock_(clock), events_(events) {}
  // Returns the present figures, or the last ones if they are new enough. The result is valid until
  // the next call. After a collection, it counts in `events` how many waiting jobs moved back.
  // A collection looks at each job that waits or holds GPUs.
  const Survey& look(const Engine& engine);

 private:
  // Compares the head of the queue with that of the last collection.
  void follow_positions();

  const Clock& clock_;
  Events& events_;
  // The last figures.
  Survey survey_;
  // By job: its index in `survey_.head`.
  std::map<JobId, std::size_t> positions_;
  // False: there was no collection yet.
  bool taken_ = false;
  // When the next collection may begin, on the monotonic clock.
  std::int64_t next_ms_ = 0;
};

}  // namespace subak::metrics

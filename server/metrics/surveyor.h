// The collector: computes the metrics for which it must look at every job that waits or holds GPUs.
// It updates these figures when a scrape needs them, but at most once in limits::kSurveyEveryMs.
// Updates are rarer if they would otherwise take more than a fiftieth of the time of one core. A
// scrape between two collections gets the last figures. Threads: only the thread of the follower,
// the engine that serves reads, calls look().
#pragma once

#include <cstdint>
#include <map>

#include "engine/engine.h"
#include "server/metrics/events.h"
#include "server/runtime/ports.h"

namespace subak::metrics {

// The collector. It stores the last figures, and the positions of the queue's first jobs at that
// time.
class Surveyor {
 public:
  // `clock` and `events` must outlive this object.
  Surveyor(const Clock& clock, Events& events) : clock_(clock), events_(events) {}
  // Returns the last figures, after a new collection if one may begin. `growth`: as for
  // Engine::survey(). The result is valid until the next call. After a collection, it counts in
  // `events` how many of the first jobs of the queue have moved back since the last collection.
  const Survey& look(const Engine& engine, const Growth* growth = nullptr);

 private:
  // Compares the first jobs of the queue with those at the last collection.
  void follow_positions();

  const Clock& clock_;
  Events& events_;
  // The last figures.
  Survey survey_;
  // The index of each job in `survey_.head`.
  std::map<JobId, std::size_t> positions_;
  // False: there was no collection yet.
  bool taken_ = false;
  // When the next collection may begin, by the monotonic clock.
  std::int64_t next_ms_ = 0;
};

}  // namespace subak::metrics

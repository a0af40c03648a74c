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

class Surveyor {
 public:
  // Both outlive it. Counts in `events` how many waiting jobs moved back since the previous look.
  Surveyor(const Clock& clock, Events& events) : clock_(clock), events_(events) {}
  const Survey& look(const Engine& engine);

 private:
  void follow_positions();

  const Clock& clock_;
  Events& events_;
  Survey survey_;
  std::map<JobId, std::size_t> positions_;
  bool taken_ = false;
  std::int64_t next_ms_ = 0;
};

}  // namespace subak::metrics

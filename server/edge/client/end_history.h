// Derives two things from the ends of earlier lists and watches: the pause before the next one, and
// the server's error. Threads: plain value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "core/duration.h"
#include "core/edge_limits.h"
#include "core/limits.h"
#include "core/quantity.h"
#include "server/edge/client/answer.h"
#include "server/edge/client/backoff.h"

namespace subak {

// The ends of the lists and watches of one kind, since the last watch that stayed open. The pause
// grows with each end. error() is empty until an end is wrong.
class EndHistory {
 public:
  // `path`: the path of the collection, with which error() begins.
  explicit EndHistory(std::string path) : path_(std::move(path)) {}

  // Records that the server has sent an event, or a list that the sink accepted.
  void heard() {
    unheard_ = 0;
    if (!ends_early()) error_.clear();
  }

  // Forgets all ends: the watch has stayed open for limits::kSteadyWatchMs.
  void settle() {
    backoff_.reset();
    early_ = 0;
    error_.clear();
  }

  // Records that a list or watch ended with `answer`. Returns the pause before the next one, which
  // is not less than the server asks for. The pause is 0 if this is the first end and was in order
  // (kDone or kExpired).
  DurationMs ended(const CallAnswer& answer) {
    const bool in_order = answer.outcome == Outcome::kDone || answer.outcome == Outcome::kExpired;
    const bool first = backoff_.tries() == 0;
    const DurationMs pause = backoff_.next();
    ++unheard_;
    early_ = in_order ? early_ + 1 : 0;
    if (ends_early()) {
      error_ = path_ + ": the server ends lists and watches as soon as they begin; each is asked " +
               "for again after a pause of up to " + format_duration(limits::kMaxEdgeRetryMs);
    } else if (!in_order) {
      error_ = path_ + ": " + answer.message;
    }
    return in_order && first ? 0 : std::max(pause, answer.delay_ms);
  }

  // Records that the sink rejected a complete list. Returns the pause before the next one.
  DurationMs rejected() { return backoff_.next(); }

  // True if there was at most one end since the last heard().
  bool heard_lately() const { return unheard_ < 2; }
  // True if the last limits::kShortWatchesTold ends, or more, were all in order but too early.
  bool ends_early() const { return early_ >= limits::kShortWatchesTold; }
  // True if there were limits::kShortWatchesTold ends or more, for any reason, since a watch last
  // stayed open.
  bool is_long() const { return backoff_.tries() >= limits::kShortWatchesTold; }
  // The last error with the path; empty after a success.
  const std::string& error() const { return error_; }

 private:
  const std::string path_;
  Backoff backoff_;
  // Ends in a row without an event between them.
  std::uint32_t unheard_ = 0;
  // Ends in a row that were in order but too early.
  std::uint32_t early_ = 0;
  std::string error_;
};

}  // namespace subak

// What the ends of earlier lists and watches say: how long the next one waits, and what is wrong
// with the server. Threads: plain value.
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

// The ends of the lists and watches of one kind since the last watch that stayed open. The pause
// grows with each of them. error() is empty until one was wrong.
class EndHistory {
 public:
  // `path`: of the collection. error() begins with it.
  explicit EndHistory(std::string path) : path_(std::move(path)) {}

  // Notes that the server has sent an event, or a list that the sink accepted.
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

  // Notes that a list or watch ended with `answer`. Returns the pause before the next one, which is
  // at least what the server asks for. It is 0 if the end was in order (kDone or kExpired) and the
  // first one.
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

  // Notes that the sink rejected a complete list. Returns the pause before the next one.
  DurationMs rejected() { return backoff_.next(); }

  // True if at most one end came since the server was heard.
  bool heard_lately() const { return unheard_ < 2; }
  // True if limits::kShortWatchesTold ends in a row were in order, each too early.
  bool ends_early() const { return early_ >= limits::kShortWatchesTold; }
  // True if limits::kShortWatchesTold ends were too early, for any reason.
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

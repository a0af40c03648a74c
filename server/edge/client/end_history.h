// Decides how long a Reflector (reflector.h) waits before its next list or watch, and stores the
// server's last error. Both follow from how its earlier lists and watches ended. The sink is the
// object that gets the reflector's objects. Threads: one at a time.
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

// The ends of the lists and watches of one kind of objects, since a watch last stayed open for
// limits::kSteadyWatchMs (10 s). A list that failed is an end, and so is a watch that ended for any
// reason. A list that succeeded is no end. An end is regular if the server ended the list or watch
// without an error, or because its resource version was too old. Each end doubles the next pause,
// up to a limit (Backoff).
class EndHistory {
 public:
  // `path`: the path of the collection, with which error() begins.
  explicit EndHistory(std::string path) : path_(std::move(path)) {}

  // Records that the server has sent an event of a watch, or a list that the sink accepted.
  void heard() {
    unheard_ = 0;
    absent_ = false;
    if (!ends_early()) error_.clear();
  }

  // Forgets all ends. Call it when a watch has stayed open for limits::kSteadyWatchMs.
  void settle() {
    backoff_.reset();
    early_ = 0;
    error_.clear();
  }

  // Records that a list failed or a watch ended, with this `answer`. Returns the pause before the
  // next list or watch. The end is regular if `answer` is kDone or kExpired. After the first end
  // since settle(), there is no pause if this end is regular. Any other pause is at least
  // `answer.delay_ms`.
  DurationMs ended(const CallAnswer& answer) {
    const bool in_order = answer.outcome == Outcome::kDone || answer.outcome == Outcome::kExpired;
    const bool first = backoff_.tries() == 0;
    const DurationMs pause = backoff_.next();
    ++unheard_;
    absent_ = answer.outcome == Outcome::kNotFound || answer.outcome == Outcome::kRefused;
    early_ = in_order ? early_ + 1 : 0;
    if (ends_early()) {
      error_ = path_ + ": the server ends lists and watches as soon as they begin; the edge " +
               "requests each again after a pause of up to " +
               format_duration(limits::kMaxEdgeRetryMs);
    } else if (!in_order) {
      error_ = path_ + ": " + answer.message;
    }
    return in_order && first ? 0 : std::max(pause, answer.delay_ms);
  }

  // Records that the sink rejected a complete list. Returns the pause before the next list.
  DurationMs rejected() { return backoff_.next(); }

  // True if the last list or watch ended because the server has no such collection or refused the
  // request. A later call of heard() makes it false.
  bool absent() const { return absent_; }
  // True if there was at most one end since the last call of heard().
  bool heard_lately() const { return unheard_ < 2; }
  // True if the last limits::kShortWatchesTold ends were all regular, and no watch stayed open for
  // limits::kSteadyWatchMs since the first of them.
  bool ends_early() const { return early_ >= limits::kShortWatchesTold; }
  // True if at least limits::kShortWatchesTold lists or watches ended, for any reason, since
  // settle(). A list that the sink rejected counts too.
  bool is_long() const { return backoff_.tries() >= limits::kShortWatchesTold; }
  // Returns the last error, which begins with the path; empty: there is none. An end that is not
  // regular sets the error to the server's message. While ends_early() is true, the error says so.
  // settle() clears the error, and heard() does so too while ends_early() is false.
  const std::string& error() const { return error_; }

 private:
  const std::string path_;
  Backoff backoff_;
  // The number of ends since the last call of heard().
  std::uint32_t unheard_ = 0;
  // The number of regular ends in a row since settle().
  std::uint32_t early_ = 0;
  // The result of absent().
  bool absent_ = false;
  std::string error_;
};

}  // namespace subak

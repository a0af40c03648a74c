// Decides which refusals for lack of rights get a row in the audit log. However often a caller
// tries, the log gets one row a minute for each subject that the caller tries to change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/quantity.h"
#include "threads/mutex.h"

namespace subak::api {

// It does not store the rows. It only remembers pairs of caller and subject, at most
// limits::kMaxDenialsRemembered of them. Threads: any.
class Denials {
 public:
  struct Row {
    // `actor` is empty in a row that counts refusals.
    std::string actor, subject, message;
  };
  // Records a refusal and returns the rows to write. `now`: the time of the refusal by the
  // monotonic clock, in ms. There is no row if this caller and subject got one within the last
  // limits::kDenialAuditEveryMs. Within that time, at most limits::kMaxDenialsRemembered refusals
  // get a row; further ones are only counted. After that time, the next refusal returns an
  // additional row, without an actor, which has the count.
  std::vector<Row> note(const Row& refusal, DurationMs now);

 private:
  // Drops the refusals that are older than limits::kDenialAuditEveryMs.
  void forget(DurationMs now) SUBAK_REQUIRES(mutex_);

  Mutex mutex_;
  // When the last row was written for each pair of actor and subject.
  std::map<std::pair<std::string, std::string>, DurationMs> noted_ SUBAK_GUARDED_BY(mutex_);
  // The number of refusals since `full_since_` that got no row.
  std::uint64_t uncounted_ SUBAK_GUARDED_BY(mutex_) = 0;
  // When the first of these refusals came, by the monotonic clock.
  DurationMs full_since_ SUBAK_GUARDED_BY(mutex_) = 0;
};

}  // namespace subak::api

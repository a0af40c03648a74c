// Decides which calls that were refused for lack of rights get a row in the audit log. However
// often a caller tries, the log gets only one row a minute for each subject that the caller tries
// to change.
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

// Denials does not store the rows. It only remembers pairs of caller and subject, at most
// limits::kMaxDenialsRemembered pairs. Threads: any.
class Denials {
 public:
  struct Row {
    // `actor` is empty in a row that counts refusals.
    std::string actor, subject, message;
  };
  // Records a refusal and returns the rows to write. `now`: the time of the refusal by the
  // monotonic clock, in ms. The rows of the last limits::kDenialAuditEveryMs decide:
  // - One of them is for the same caller and subject: no row.
  // - They are limits::kMaxDenialsRemembered or more: no row, but note() counts the refusal.
  // - Otherwise: a row for the refusal.
  // If refusals were only counted, the first call limits::kDenialAuditEveryMs after the first of
  // them also returns a row without an actor. The message of this row has their number.
  std::vector<Row> note(const Row& refusal, DurationMs now);

 private:
  // Drops the refusals that are older than limits::kDenialAuditEveryMs.
  void forget(DurationMs now) SUBAK_REQUIRES(mutex_);

  Mutex mutex_;
  // When the last row was written for each pair of actor and subject.
  std::map<std::pair<std::string, std::string>, DurationMs> noted_ SUBAK_GUARDED_BY(mutex_);
  // The number of refusals since `full_since_` that got no row.
  std::uint64_t uncounted_ SUBAK_GUARDED_BY(mutex_) = 0;
  // When the first refusal that `uncounted_` counts came, by the monotonic clock, in ms.
  DurationMs full_since_ SUBAK_GUARDED_BY(mutex_) = 0;
};

}  // namespace subak::api

// Rows of the audit log for refusals for lack of rights. There is one row per caller, subject and
// minute, however often the caller tries.
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

// Threads: any.
// Memory: at most limits::kMaxDenialsRemembered pairs of caller and subject. It keeps no row
// itself.
class Denials {
 public:
  struct Row {
    // Empty in the row that counts refusals.
    std::string actor, subject, message;
  };
  // Records a refusal at `now` (monotonic, in ms) and returns the rows to write; none if this
  // refusal already has its row. Beyond limits::kMaxDenialsRemembered within
  // limits::kDenialAuditEveryMs, refusals are only counted. The count becomes a row without actor,
  // written with the first refusal after that time.
  std::vector<Row> note(const Row& refusal, DurationMs now);

 private:
  // Drops the refusals whose minute is over.
  void forget(DurationMs now) SUBAK_REQUIRES(mutex_);

  Mutex mutex_;
  // By actor and subject: when the row was written.
  std::map<std::pair<std::string, std::string>, DurationMs> noted_ SUBAK_GUARDED_BY(mutex_);
  // Refusals without a row of their own, since `full_since_`.
  std::uint64_t uncounted_ SUBAK_GUARDED_BY(mutex_) = 0;
  // When the first refusal found no room, monotonic.
  DurationMs full_since_ SUBAK_GUARDED_BY(mutex_) = 0;
};

}  // namespace subak::api

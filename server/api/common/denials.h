// Decides which refusals for lack of rights get a row in the audit log. A caller gets one row for
// each subject and minute, however often the caller tries.
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
// Memory: at most limits::kMaxDenialsRemembered pairs of caller and subject.
// It does not store the rows.
class Denials {
 public:
  struct Row {
    // `actor` is empty in the row that counts refusals.
    std::string actor, subject, message;
  };
  // Records a refusal at `now` (monotonic, in ms) and returns the rows to write. It returns no row
  // if the refusal already has one. Within limits::kDenialAuditEveryMs it remembers at most
  // limits::kMaxDenialsRemembered refusals, and only counts further ones. With the first refusal
  // after that time it returns a row without actor, which has the count.
  std::vector<Row> note(const Row& refusal, DurationMs now);

 private:
  // Drops the refusals that are older than limits::kDenialAuditEveryMs.
  void forget(DurationMs now) SUBAK_REQUIRES(mutex_);

  Mutex mutex_;
  // When the row of each actor and subject was written.
  std::map<std::pair<std::string, std::string>, DurationMs> noted_ SUBAK_GUARDED_BY(mutex_);
  // Refusals without a row of their own, since `full_since_`.
  std::uint64_t uncounted_ SUBAK_GUARDED_BY(mutex_) = 0;
  // When the first refusal was only counted, because the limit was reached; monotonic.
  DurationMs full_since_ SUBAK_GUARDED_BY(mutex_) = 0;
};

}  // namespace subak::api

// Refusals for lack of rights, as rows of the audit log: one for each caller, subject and minute,
// however often they try.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/quantity.h"

namespace subak::api {

// Threads: any.
class Denials {
 public:
  struct Row {
    std::string actor, subject, message;
  };
  // Notes a refusal at `now` (monotonic) and returns the rows to write, none if this one is there
  // already. More than limits::kMaxDenialsRemembered within limits::kDenialAuditEveryMs are only
  // counted. The count is a row without actor, written with the first refusal after that time.
  std::vector<Row> note(const Row& refusal, DurationMs now);

 private:
  void forget(DurationMs now);

  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, DurationMs> noted_;  // by actor and subject
  std::uint64_t uncounted_ = 0;  // refusals without a row of their own
  DurationMs full_since_ = 0;
};

}  // namespace subak::api

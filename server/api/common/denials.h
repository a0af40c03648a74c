// Rows of the audit log for refusals for lack of rights. There is one row per caller, subject and
// minute, however often the caller tries.
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
  // Records a refusal at `now` (monotonic, in ms) and returns the rows to write; none if this
  // refusal already has its row. Beyond limits::kMaxDenialsRemembered within
  // limits::kDenialAuditEveryMs, refusals are only counted. The count becomes a row without actor,
  // written with the first refusal after that time.
  std::vector<Row> note(const Row& refusal, DurationMs now);

 private:
  void forget(DurationMs now);

  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, DurationMs> noted_;  // by actor and subject
  std::uint64_t uncounted_ = 0;  // refusals without a row of their own
  DurationMs full_since_ = 0;
};

}  // namespace subak::api

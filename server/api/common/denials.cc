#include "server/api/common/denials.h"

#include "core/limits.h"

namespace subak::api {

std::vector<Denials::Row> Denials::note(const Row& refusal, DurationMs now) {
  const MutexLock lock(mutex_);
  std::vector<Row> rows;
  if (uncounted_ > 0 && now - full_since_ >= limits::kDenialAuditEveryMs) {
    rows.push_back({"", "",
                    std::to_string(uncounted_) +
                        " more calls were refused for lack of "
                        "rights within a minute; the service's log has them"});
    uncounted_ = 0;
  }
  const std::pair key(refusal.actor, refusal.subject);
  const auto known = noted_.find(key);
  if (known != noted_.end() && now - known->second < limits::kDenialAuditEveryMs) return rows;
  if (known == noted_.end() && noted_.size() >= limits::kMaxDenialsRemembered) forget(now);
  if (known == noted_.end() && noted_.size() >= limits::kMaxDenialsRemembered) {
    if (uncounted_++ == 0) full_since_ = now;
    return rows;
  }
  noted_[key] = now;
  rows.push_back(refusal);
  return rows;
}

void Denials::forget(DurationMs now) {
  std::erase_if(noted_, [now](const auto& entry) {
    return now - entry.second >= limits::kDenialAuditEveryMs;
  });
}

}  // namespace subak::api

#include "server/edge/parking/parked_owners.h"

#include <utility>

#include "core/content_hash.h"
#include "core/text.h"

namespace subak {

std::optional<in::OwnerSeen> ParkedOwners::look(const std::string& cluster, const std::string& uid,
                                                const Owner& owner) {
  const bool exists = owner.ns != nullptr;
  const bool is_parked = exists && owner.marked && owner.suspended && !owner.ended;
  if (!is_parked) {
    with_pods_.erase(uid);
    resume_.erase(uid);
  }
  if (!exists) history_.erase(uid);
  if (is_parked || (exists && history_.contains(uid))) {
    History& history = history_[uid];
    if (is_parked && !history.parked && ++history.times == limits::kMaxParkings + 1)
      given_up_.push_back(uid);
    history.parked = is_parked;
  }
  const auto known = told_.find(uid);
  if (is_parked && owner.pods != nullptr && !is_given_up(uid)) {
    in::OwnerSeen seen{cluster, ParkedOwner::kParked, owner.pods->pod, owner.pods->groups};
    seen.pod.user = owner.user;  // a template may name anybody
    const std::uint64_t digest = content_hash(to_text(seen));
    if (known != told_.end() && known->second == digest) return std::nullopt;
    told_[uid] = digest;
    return seen;
  }
  if (known == told_.end()) return std::nullopt;
  told_.erase(known);
  in::OwnerSeen seen{cluster, ParkedOwner::kGone, {}, {}};
  if (exists && !owner.suspended && !owner.ended) seen.state = ParkedOwner::kResumed;
  seen.pod.uid = uid;
  seen.pod.owner = shortened(uid, limits::kMaxNameBytes);
  seen.pod.ns = exists ? *owner.ns : "gone";
  seen.pod.name = exists ? *owner.name : "gone";
  return seen;
}

std::vector<std::string> ParkedOwners::told() const {
  std::vector<std::string> uids;
  uids.reserve(told_.size());
  for (const auto& [uid, digest] : told_) uids.push_back(uid);
  return uids;
}

void ParkedOwners::see_pod(const std::string& uid, std::int64_t monotonic_ms) {
  if (told_.contains(uid)) with_pods_.try_emplace(uid, monotonic_ms);
}

void ParkedOwners::resume(const std::string& uid, const std::string& why) {
  resume_.try_emplace(uid, why);
}

const std::string* ParkedOwners::must_resume(const std::string& uid) const {
  const auto found = resume_.find(uid);
  return found == resume_.end() ? nullptr : &found->second;
}

bool ParkedOwners::is_given_up(const std::string& uid) const {
  const auto found = history_.find(uid);
  return found != history_.end() && found->second.times > limits::kMaxParkings;
}

std::vector<std::string> ParkedOwners::take_given_up() { return std::exchange(given_up_, {}); }

}  // namespace subak

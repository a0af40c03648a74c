// What makes pods: which of them start together, and which wait for its word.
#include <algorithm>

#include "core/limits.h"
#include "core/names.h"
#include "server/kube/cards.h"

namespace subak {

std::string OwnerCard::path() const {
  const std::size_t slash = collection.rfind('/');
  return collection.substr(0, slash) + "/namespaces/" + ns + collection.substr(slash) + "/" + name;
}

std::string OwnerCard::api_version() const {
  constexpr std::size_t kBefore = std::string_view("/apis/").size();
  return collection.substr(kBefore, collection.rfind('/') - kBefore);
}

std::string_view OwnerCard::kind() const {
  return collection.ends_with("/jobsets") ? "JobSet" : "Job";
}

// How many start together, where only what makes the pod says so. False: that is not known yet.
bool Cards::find_gang(Pod& pod) const {
  const OwnerCard* const owner = find_owner(std::string(pod.owner.uid));
  if (owner == nullptr) return false;
  const auto size_of = [](const OwnerCard& of, std::string_view role) {
    for (const auto& [name, size] : of.gangs) {
      if (name == role) return size;
    }
    return std::uint32_t{1};
  };
  const Text role = find_text(pod.labels, "jobset.sigs.k8s.io/replicatedjob-name");
  if (role.empty()) {
    join_gang(pod, size_of(*owner, ""), true);
    // Once some of its indexes are done the rest is another gang, and a smaller one.
    if (pod.gang.size > 1 && owner->succeeded > 0) {
      pod.gang.owner += "+" + std::to_string(owner->succeeded);
    }
    return true;
  }
  const OwnerCard* const set = find_owner(owner->parent);
  if (set == nullptr) return false;
  join_gang(pod, size_of(*set, role), set->together == Together::kEachJob);
  return true;
}

// Its pods are gone, and what made them too, or it makes no more.
void Cards::tell_if_gone(const std::string& gang_owner) {
  if (of_gang_.contains(gang_owner) || !gang_owners_.contains(gang_owner)) return;
  const OwnerCard* const owner = find_owner(gang_owner);
  if (!known_collections_.contains(kJobsPath) || (owner != nullptr && !owner->ended)) return;
  tell_gone("g" + gang_owner, in::GangGone{cluster_, gang_owner});
  gang_owners_.erase(std::string(gang_owner));
}

// Only while a gate of ours is closed does it matter.
bool Cards::waits_for_owner(const Pod& pod, const WatchEvent& event, std::int64_t monotonic_ms) {
  const bool set = has_key(pod.labels, "jobset.sigs.k8s.io/replicatedjob-name");
  const bool read = known_collections_.contains(set ? kJobSetsPath : kJobsPath);
  if (pod.owner.kind != "Job" || !read || !pod.gated() || event.kind == WatchKind::kDeleted ||
      orphans_.size() >= limits::kMaxEarlyPods) {
    return false;
  }
  const std::string uid(pod.uid);
  const auto [at, is_new] = orphans_.try_emplace(uid);
  at->second.text = simdjson::minify(event.object);
  if (!is_new) return true;
  at->second.since_ms = monotonic_ms;
  orphans_of_.emplace(pod.owner.uid, uid);
  const OwnerCard* const owner = find_owner(std::string(pod.owner.uid));
  if (owner != nullptr) orphans_of_.emplace(owner->parent, uid);
  return true;
}

void Cards::see_orphan(const std::string& uid, std::int64_t monotonic_ms, bool with_owner) {
  const auto found = orphans_.find(uid);
  if (found == orphans_.end()) return;
  const std::string text = std::move(found->second.text);
  const std::int64_t since_ms = found->second.since_ms;
  orphans_.erase(found);
  simdjson::dom::parser parser;
  json::Value pod;
  if (parser.parse(text).get(pod) != simdjson::SUCCESS) return;
  see_again(pod, with_owner ? since_ms : monotonic_ms, with_owner);
}

void Cards::adopt_orphans(std::int64_t monotonic_ms) {
  std::vector<std::string> due;
  for (const auto& [uid, orphan] : orphans_) {
    if (monotonic_ms - orphan.since_ms >= limits::kOwnerMs) due.push_back(uid);
  }
  for (const std::string& uid : due) see_orphan(uid, monotonic_ms, false);
  std::erase_if(orphans_of_,
                [this](const auto& entry) { return !orphans_.contains(entry.second); });
}

void Cards::see_answered_owner(json::Value owner, const std::string& collection) {
  const auto known = owners_.find(std::string(json::text_in(owner, "metadata", "uid")));
  if (known == owners_.end()) return;
  const std::uint32_t list = known->second.list;
  WatchEvent event;
  event.kind = WatchKind::kModified;
  event.object = owner;
  see_owner(event, collection);
  known->second.list = list;
}

void Cards::see_owner(const WatchEvent& event, const std::string& collection) {
  const std::string uid(json::text_in(event.object, "metadata", "uid"));
  if (event.kind == WatchKind::kDeleted) {
    owners_.erase(uid);
    marked_owners_.erase(uid);
    return tell_if_gone(uid);
  }
  OwnerCard& card = owners_[uid];
  card.ns = json::text_in(event.object, "metadata", "namespace");
  card.name = json::text_in(event.object, "metadata", "name");
  card.collection = collection;
  const auto gangs = std::exchange(card.gangs, {});
  const std::int64_t succeeded = std::exchange(card.succeeded, 0);
  card.together = Together::kNone;
  const OwnerKind kind = collection == kJobSetsPath ? OwnerKind::kJobSet : OwnerKind::kJob;
  if (const auto owner = read_owner(kind, event.object, extra_)) {
    card.together = owner->together;
    card.has_deadline = owner->has_deadline;
    card.backoff_limit = owner->backoff_limit;
    card.failed = owner->failed;
    card.succeeded = owner->succeeded;
    card.ended = owner->ended;
    for (std::size_t role = 0; role < owner->roles.size(); ++role) {
      card.gangs.emplace_back(owner->roles[role].name, owner->gang_size(role));
    }
  }
  card.list = owner_lists_[collection];
  card.resource_version = json::text_in(event.object, "metadata", "resourceVersion");
  card.parent.clear();
  card.mark.clear();
  if (const auto metadata = json::member(event.object, "metadata")) {
    if (const auto owners = json::member(*metadata, "ownerReferences")) {
      json::each_item(*owners, [&](std::size_t, json::Value owner) {
        const auto controls = json::member(owner, "controller");
        if (controls && json::boolean(*controls)) card.parent = json::text(owner, "uid");
      });
    }
    if (const auto annotations = json::member(*metadata, "annotations")) {
      card.mark = json::text(*annotations, names::kSuspendedBy);
    }
  }
  if (card.mark.empty()) {
    marked_owners_.erase(uid);
  } else {
    marked_owners_.insert(uid);
  }
  const auto spec = json::member(event.object, "spec");
  const auto suspend = spec ? json::member(*spec, "suspend") : std::nullopt;
  const auto parallelism = spec ? json::member(*spec, "parallelism") : std::nullopt;
  card.one_pod = !parallelism || json::integer(*parallelism, 1) <= 1;
  card.suspended = suspend && json::boolean(*suspend);
  if (gangs != card.gangs || succeeded != card.succeeded) outdate(uid);
  std::vector<std::string> orphans;
  const auto [first, last] = orphans_of_.equal_range(uid);
  for (auto at = first; at != last; ++at) orphans.push_back(at->second);
  orphans_of_.erase(first, last);
  for (const std::string& orphan : orphans) see_orphan(orphan, 0, true);
  if (owners_.at(uid).ended) tell_if_gone(uid);
}

void Cards::outdate(const std::string& owner_uid) {
  for (const std::string& uid : gated_) {
    const GpuCard& gpu = *pods_.at(uid).gpu;
    const OwnerCard* const owner = find_owner(gpu.owner_uid);
    const bool below = owner != nullptr && owner->parent == owner_uid;
    if (gpu.owner_uid == owner_uid || below) outdated_.insert(uid);
  }
}

void Cards::complete_owners(const std::string& collection) {
  known_collections_.insert(collection);
  std::erase_if(owners_, [&](const auto& entry) {
    return entry.second.collection == collection &&
           entry.second.list != owner_lists_.at(collection);
  });
  std::erase_if(marked_owners_, [&](const std::string& uid) { return !owners_.contains(uid); });
  for (const std::string& owner : std::set(gang_owners_)) tell_if_gone(owner);
}

const OwnerCard* Cards::find_owner(const std::string& uid) const {
  const auto found = owners_.find(uid);
  return found == owners_.end() ? nullptr : &found->second;
}

std::size_t Cards::pods_of(const std::string& owner_uid) const {
  const auto count = [this](const std::string& uid) {
    const auto found = of_owner_.find(uid);
    return found == of_owner_.end() ? 0 : found->second.pods;
  };
  std::size_t pods = count(owner_uid);
  for (const auto& [uid, owner] : owners_) {
    if (owner.parent == owner_uid) pods += count(uid);
  }
  return pods;
}

std::size_t Cards::bound_of(const std::string& owner_uid) const {
  const auto found = of_owner_.find(owner_uid);
  return found == of_owner_.end() ? 0 : found->second.bound;
}

}  // namespace subak

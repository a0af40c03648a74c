#include "server/edge/cache/owner_cache.h"

#include <tuple>
#include <utility>

#include "core/names.h"
#include "core/text.h"

namespace subak {
namespace {

OwnerKind kind_of(std::string_view collection) {
  if (collection == kJobSetsPath) return OwnerKind::kJobSet;
  return collection == kWorkerSetsPath ? OwnerKind::kLeaderWorkerSet : OwnerKind::kJob;
}

// Returns the set's jobs with GPUs if each has the same number of pods; else none.
std::vector<JobsOfSet> jobs_of(const OwnerRecord& set) {
  std::vector<JobsOfSet> jobs;
  for (const OwnerRole& role : set.roles) {
    if (role.shape.kind == GpuKind::kNone) continue;
    if (role.independent || (!jobs.empty() && jobs.front().pods != role.pods)) return {};
    jobs.push_back({role.name, role.copies, role.pods, role.shape});
  }
  return jobs;
}

}  // namespace

std::string OwnerEntry::path() const {
  const std::size_t slash = collection.rfind('/');
  return collection.substr(0, slash) + "/namespaces/" + ns + collection.substr(slash) + "/" + name;
}

std::string OwnerEntry::api_version() const {
  constexpr std::size_t kBefore = std::string_view("/apis/").size();
  return collection.substr(kBefore, collection.rfind('/') - kBefore);
}

std::string_view OwnerEntry::kind() const { return enum_name(kind_of(collection)); }

void OwnerCache::read(const WatchEvent& event, OwnerEntry& entry) const {
  entry.gangs.clear();
  entry.ranks.clear();
  entry.done = 0;
  entry.together = Together::kNone;
  if (const auto owner = read_owner(kind_of(entry.collection), event.object, extra_)) {
    entry.together = owner->together;
    entry.has_deadline = owner->has_deadline;
    entry.backoff_limit = owner->backoff_limit;
    entry.failed = owner->failed;
    entry.done = owner->succeeded + owner->failed_indexes;
    entry.replaced_alone = owner->replaced_alone;
    entry.indexes = owner->indexes;
    entry.backoff_limit_per_index = owner->backoff_limit_per_index;
    entry.ended = owner->ended;
    entry.without_gpus = 0;
    entry.ranks = role_ranks(*owner);
    entry.late.reset();
    entry.firsts.clear();
    if (owner->first_of_each_job && owner->together == Together::kAll)
      entry.firsts = jobs_of(*owner);
    if (owner->leader_first && owner->roles.size() == 2) {
      entry.late = std::make_shared<const PodShape>(owner->roles[1].shape);
      entry.late_as_leader = owner->roles[0].shape == owner->roles[1].shape;
    }
    for (std::size_t role = 0; role < owner->roles.size(); ++role) {
      const OwnerRole& made = owner->roles[role];
      entry.gangs.emplace_back(made.name, owner->gang_size(role));
      entry.groups = made.copies;
      if (!made.has_gpus()) entry.without_gpus += made.pods;
    }
  }
  entry.resource_version = json::text_in(event.object, "metadata", "resourceVersion");
  entry.parent.clear();
  entry.mark.clear();
  if (const auto metadata = json::member(event.object, "metadata")) {
    if (const auto owners = json::member(*metadata, "ownerReferences")) {
      json::each_item(*owners, [&](std::size_t, json::Value owner) {
        const auto controls = json::member(owner, "controller");
        if (controls && json::boolean(*controls)) entry.parent = json::text(owner, "uid");
      });
    }
    if (const auto annotations = json::member(*metadata, "annotations")) {
      entry.mark = json::text(*annotations, names::kSuspendedBy);
    }
  }
  const auto spec = json::member(event.object, "spec");
  const auto suspend = spec ? json::member(*spec, "suspend") : std::nullopt;
  const auto parallelism = spec ? json::member(*spec, "parallelism") : std::nullopt;
  entry.one_pod = !parallelism || json::integer(*parallelism, 1) <= 1;
  entry.suspended = suspend && json::boolean(*suspend);
}

OwnerCache::Seen OwnerCache::see(const WatchEvent& event, const std::string& collection) {
  Seen seen;
  seen.uid = json::text_in(event.object, "metadata", "uid");
  if (event.kind == WatchKind::kDeleted) {
    entries_.erase(seen.uid);
    marked_.erase(seen.uid);
    std::erase_if(worker_sets_, [&](const auto& set) { return set.second == seen.uid; });
    seen.gone = true;
    return seen;
  }
  OwnerEntry& entry = entries_[seen.uid];
  entry.ns = json::text_in(event.object, "metadata", "namespace");
  entry.name = json::text_in(event.object, "metadata", "name");
  entry.collection = collection;
  entry.list = lists_[collection];
  const auto said = [&entry] {
    return std::tuple(entry.gangs, entry.done, entry.without_gpus, entry.replaced_alone,
                      entry.late ? to_text(*entry.late) : std::string(), entry.firsts.size());
  };
  const auto before = said();
  read(event, entry);
  if (collection == kWorkerSetsPath) {
    seen.worker_set = namespaced_name(entry.ns, entry.name);
    seen.outdates = std::exchange(worker_sets_[seen.worker_set], seen.uid) != seen.uid;
  }
  if (entry.mark.empty()) {
    marked_.erase(seen.uid);
  } else {
    marked_.insert(seen.uid);
  }
  seen.outdates = seen.outdates || before != said();
  return seen;
}

std::optional<OwnerCache::Seen> OwnerCache::see_answer(json::Value owner,
                                                       const std::string& collection) {
  const auto known = entries_.find(std::string(json::text_in(owner, "metadata", "uid")));
  if (known == entries_.end()) return std::nullopt;
  const std::string_view version = json::text_in(owner, "metadata", "resourceVersion");
  if (version_number(version) < version_number(known->second.resource_version)) return std::nullopt;
  const std::uint32_t list = known->second.list;
  WatchEvent event;
  event.kind = WatchKind::kModified;
  event.object = owner;
  Seen seen = see(event, collection);
  known->second.list = list;
  return seen;
}

void OwnerCache::complete(const std::string& collection) {
  known_.insert(collection);
  std::erase_if(entries_, [&](const auto& one) {
    return one.second.collection == collection && one.second.list != lists_.at(collection);
  });
  std::erase_if(marked_, [&](const std::string& uid) { return !entries_.contains(uid); });
  std::erase_if(worker_sets_, [&](const auto& set) { return !entries_.contains(set.second); });
}

const OwnerEntry* OwnerCache::find(const std::string& uid) const {
  const auto found = entries_.find(uid);
  return found == entries_.end() ? nullptr : &found->second;
}

std::string OwnerCache::worker_set(const std::string& name) const {
  const auto found = worker_sets_.find(name);
  return found == worker_sets_.end() ? std::string() : found->second;
}

std::vector<std::string> OwnerCache::below(const std::string& uid) const {
  std::vector<std::string> out;
  for (const auto& [one, owner] : entries_) {
    if (owner.parent == uid) out.push_back(one);
  }
  return out;
}

}  // namespace subak

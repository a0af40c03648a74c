// The owners of pods: which pods start together, and which pods wait for their owner's entry.
#include <algorithm>
#include <charconv>
#include <tuple>

#include "core/content_hash.h"
#include "core/limits.h"
#include "core/names.h"
#include "server/edge/cluster/cluster_cache.h"

namespace subak {
namespace {

OwnerKind kind_of(std::string_view collection) {
  if (collection == kJobSetsPath) return OwnerKind::kJobSet;
  return collection == kWorkerSetsPath ? OwnerKind::kLeaderWorkerSet : OwnerKind::kJob;
}

std::string group_key(std::string_view ns, std::string_view name) {
  return std::string(ns) + "/" + std::string(name);
}

std::int64_t number_of(Text text) {
  std::int64_t n = -1;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
  return ec == std::errc() && end == text.data() + text.size() ? n : -1;
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

// k8s.io/api batch/v1, annotations of an Indexed Job's pods.
void read_job_index(const Pod& pod, GpuPodEntry& gpu) {
  const auto said = [&pod](Text name) { return number_of(find_text(pod.annotations, name)); };
  gpu.index = said("batch.kubernetes.io/job-completion-index");
  gpu.index_failures =
      std::max<std::int64_t>(said("batch.kubernetes.io/job-index-failure-count"), 0);
}

std::string OwnerEntry::path() const {
  const std::size_t slash = collection.rfind('/');
  return collection.substr(0, slash) + "/namespaces/" + ns + collection.substr(slash) + "/" + name;
}

std::string OwnerEntry::api_version() const {
  constexpr std::size_t kBefore = std::string_view("/apis/").size();
  return collection.substr(kBefore, collection.rfind('/') - kBefore);
}

std::string_view OwnerEntry::kind() const { return enum_name(kind_of(collection)); }

const OwnerEntry* ClusterCache::find_worker_set(const Pod& pod, std::string& uid) const {
  const auto known = worker_sets_.find(group_key(pod.ns, worker_set_of(pod)));
  if (known == worker_sets_.end()) return nullptr;
  uid = known->second;
  return find_owner(uid);
}

// Finds the pod's LeaderWorkerSet. A pod stays with the first one that was found, since another of
// the same name may exist before the pod is gone.
bool ClusterCache::find_group(Pod& pod, PodEntry& entry) const {
  std::string uid =
      entry.gpu ? entry.gpu->gang_owner.substr(0, entry.gpu->gang_owner.find('+')) : "";
  std::uint32_t without_gpus = entry.gpu ? entry.gpu->without_gpus : 0;
  std::string now;
  const OwnerEntry* const set = find_worker_set(pod, now);
  if (uid.empty() || uid == now) {
    if (set == nullptr) return false;
    uid = now;
    without_gpus = set->without_gpus;
  }
  const bool alone = set != nullptr ? set->replaced_alone : entry.gpu && entry.gpu->runs_alone;
  join_worker_set(pod, uid, without_gpus, alone);
  if (!entry.gpu) entry.gpu = std::make_unique<GpuPodEntry>();
  entry.gpu->without_gpus = without_gpus;
  return true;
}

// Finds how many pods start together if only the owner says so. False: the owner is not known yet.
bool ClusterCache::find_gang(Pod& pod, PodEntry& entry) const {
  if (!worker_set_of(pod).empty()) return find_group(pod, entry);
  if (!asks_owner(pod)) return true;
  const OwnerEntry* const owner = find_owner(std::string(pod.owner.uid));
  if (owner == nullptr) return false;
  const auto size_of = [](const OwnerEntry& of, std::string_view role) {
    for (const auto& [name, size] : of.gangs) {
      if (name == role) return size;
    }
    return std::uint32_t{1};
  };
  const Text role = find_text(pod.labels, "jobset.sigs.k8s.io/replicatedjob-name");
  if (role.empty()) {
    // The remaining pods of a gang are the gang, even if only one remains.
    const bool was = entry.gpu && !entry.gpu->gang_told.empty() && entry.gpu->gang_told[0] != ' ';
    const bool is_rest = owner->together != Together::kNone && (owner->done > 0 || was);
    join_gang(pod, size_of(*owner, ""), true, owner->replaced_alone, is_rest);
    return true;
  }
  const OwnerEntry* const set = find_owner(owner->parent);
  if (set == nullptr) return false;
  join_gang(pod, size_of(*set, role), set->together == Together::kEachJob, set->replaced_alone);
  if (pod.gang.size > 1) pod.gang.rank = rank_in(set->ranks, pod);
  return true;
}

// The core never moves a pod between gangs: the pod is reported as gone, and then as new.
void ClusterCache::leave_gang(const std::string& uid, PodEntry& entry, const PodRecord& record) {
  std::string gang = record.gang + " " + record.owner;
  const bool follows = record.size_of_owner || record.replaced_alone || record.gang_size == 0;
  if (!follows) gang += " " + std::to_string(record.gang_size);
  if (entry.told != 0 && gang != entry.gpu->gang_told) {
    put_back_.push_back({in::PodGone{cluster_, {uid, {}, 0, 0}, 0, Cause::kNone}, uid});
    entry.told = 0;
  }
  if (gang != entry.gpu->gang_told) entry.gpu->group_told = 0;
  entry.gpu->gang_told = std::move(gang);
}

// True if its Job now has fewer indexes: the pod is not lost, it is no longer wanted.
bool ClusterCache::is_left_out(const PodEntry& entry) const {
  if (!entry.gpu || entry.gpu->index < 0) return false;
  const OwnerEntry* const owner = find_owner(entry.gpu->owner_uid);
  if (owner == nullptr || owner->together == Together::kNone) return false;
  return owner->indexes > 0 && entry.gpu->index >= owner->indexes;
}

// True if, as far as known, the gang's owner exists and creates its pods again.
bool ClusterCache::makes_more(const std::string& gang_owner) const {
  const std::size_t plus = gang_owner.find('+');
  const bool of_group = plus != std::string::npos;
  if (!known_collections_.contains(of_group ? kWorkerSetsPath : kJobsPath)) return true;
  const OwnerEntry* const owner = find_owner(gang_owner.substr(0, plus));
  if (owner == nullptr) return false;
  if (!of_group) return !owner->ended;
  std::uint32_t group = 0;
  const char* const end = gang_owner.data() + gang_owner.size();
  const auto read = std::from_chars(gang_owner.data() + plus + 1, end, group);
  return read.ec != std::errc() || read.ptr != end || group < owner->groups;
}

// Reports the gang as gone once its pods are gone and its owner is gone or creates no more.
void ClusterCache::tell_if_gone(const std::string& gang_owner) {
  if (of_gang_.contains(gang_owner) || !gang_owners_.contains(gang_owner)) return;
  if (makes_more(gang_owner)) return;
  tell_gone("g" + gang_owner, in::GangGone{cluster_, gang_owner});
  gang_owners_.erase(std::string(gang_owner));
}

void ClusterCache::tell_gone_gangs(const std::string& owner_uid) {
  std::vector<std::string> gangs{owner_uid};
  const std::string prefix = owner_uid + "+";
  for (auto at = gang_owners_.lower_bound(prefix); at != gang_owners_.end(); ++at) {
    if (!at->starts_with(prefix)) break;
    gangs.push_back(*at);
  }
  for (const std::string& gang : gangs) tell_if_gone(gang);
}

// The owner only matters while Subak's gate is closed.
bool ClusterCache::waits_for_owner(const Pod& pod, const WatchEvent& event,
                                   std::int64_t monotonic_ms) {
  const bool of_jobs = has_key(pod.labels, "jobset.sigs.k8s.io/replicatedjob-name");
  const Text set = worker_set_of(pod);
  const bool read = known_collections_.contains(!set.empty() ? kWorkerSetsPath
                                                : of_jobs    ? kJobSetsPath
                                                             : kJobsPath);
  const bool has_owner = !set.empty() || pod.owner.kind == "Job";
  if (!has_owner || !read || !pod.gated() || event.kind == WatchKind::kDeleted ||
      orphans_.size() >= limits::kMaxEarlyPods) {
    return false;
  }
  const std::string uid(pod.uid);
  const auto [at, is_new] = orphans_.try_emplace(uid);
  at->second.text = simdjson::minify(event.object);
  if (!is_new) return true;
  at->second.since_ms = monotonic_ms;
  orphans_of_.emplace(set.empty() ? std::string(pod.owner.uid) : group_key(pod.ns, set), uid);
  const OwnerEntry* const owner = find_owner(std::string(pod.owner.uid));
  if (owner != nullptr) orphans_of_.emplace(owner->parent, uid);
  return true;
}

void ClusterCache::see_orphan(const std::string& uid, std::int64_t monotonic_ms, bool with_owner) {
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

void ClusterCache::adopt_orphans(std::int64_t monotonic_ms) {
  std::vector<std::string> due;
  for (const auto& [uid, orphan] : orphans_) {
    if (monotonic_ms - orphan.since_ms >= limits::kOwnerMs) due.push_back(uid);
  }
  for (const std::string& uid : due) see_orphan(uid, monotonic_ms, false);
  std::erase_if(orphans_of_, [this](const auto& one) { return !orphans_.contains(one.second); });
}

void ClusterCache::see_answered_owner(json::Value owner, const std::string& collection) {
  const auto known = owners_.find(std::string(json::text_in(owner, "metadata", "uid")));
  if (known == owners_.end()) return;
  // The watch has reported a newer version, and does not repeat it.
  const std::string_view version = json::text_in(owner, "metadata", "resourceVersion");
  if (version_number(version) < version_number(known->second.resource_version)) return;
  const std::uint32_t list = known->second.list;
  WatchEvent event;
  event.kind = WatchKind::kModified;
  event.object = owner;
  see_owner(event, collection);
  known->second.list = list;
}

void ClusterCache::read_owner_entry(const WatchEvent& event, OwnerEntry& entry) const {
  entry.gangs.clear();
  entry.ranks.clear();
  entry.done = 0;
  entry.together = Together::kNone;
  if (const auto owner =
          read_owner(kind_of(entry.collection), event.object, node_options_.extra_gpus)) {
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
      if (made.shape.kind == GpuKind::kNone) entry.without_gpus += made.pods;
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

void ClusterCache::see_owner(const WatchEvent& event, const std::string& collection) {
  const std::string uid(json::text_in(event.object, "metadata", "uid"));
  const std::string key = group_key(json::text_in(event.object, "metadata", "namespace"),
                                    json::text_in(event.object, "metadata", "name"));
  if (event.kind == WatchKind::kDeleted) {
    owners_.erase(uid);
    marked_owners_.erase(uid);
    std::erase_if(worker_sets_, [&](const auto& set) { return set.second == uid; });
    return tell_gone_gangs(uid);
  }
  OwnerEntry& entry = owners_[uid];
  entry.ns = json::text_in(event.object, "metadata", "namespace");
  entry.name = json::text_in(event.object, "metadata", "name");
  entry.collection = collection;
  entry.list = owner_lists_[collection];
  const auto said = [&entry] {
    return std::tuple(entry.gangs, entry.done, entry.without_gpus, entry.replaced_alone,
                      entry.late ? to_text(*entry.late) : std::string(), entry.firsts.size());
  };
  const auto before = said();
  read_owner_entry(event, entry);
  const bool of_groups = collection == kWorkerSetsPath;
  const bool is_new = of_groups && std::exchange(worker_sets_[key], uid) != uid;
  if (entry.mark.empty()) {
    marked_owners_.erase(uid);
  } else {
    marked_owners_.insert(uid);
  }
  if (is_new || before != said()) outdate(uid, of_groups ? key : std::string());
  see_orphans_of(uid);
  if (of_groups) see_orphans_of(key);
  tell_gone_gangs(uid);
}

void ClusterCache::see_orphans_of(const std::string& owner) {
  std::vector<std::string> orphans;
  const auto [first, last] = orphans_of_.equal_range(owner);
  for (auto at = first; at != last; ++at) orphans.push_back(at->second);
  orphans_of_.erase(first, last);
  for (const std::string& orphan : orphans) see_orphan(orphan, 0, true);
}

void ClusterCache::outdate(const std::string& owner_uid, const std::string& worker_set) {
  for (const std::string& uid : gated_) {
    const GpuPodEntry& gpu = *pods_.at(uid).gpu;
    const OwnerEntry* const owner = find_owner(gpu.owner_uid);
    const bool below = owner != nullptr && owner->parent == owner_uid;
    const bool of_group = !worker_set.empty() && gpu.worker_set == worker_set;
    if (gpu.owner_uid == owner_uid || below || of_group) outdated_.insert(uid);
  }
}

std::set<std::string> ClusterCache::take_outdated(std::size_t most) {
  if (most >= outdated_.size()) return std::exchange(outdated_, {});
  std::set<std::string> taken;
  while (taken.size() < most) taken.insert(outdated_.extract(outdated_.begin()));
  return taken;
}

void ClusterCache::complete_owners(const std::string& collection) {
  known_collections_.insert(collection);
  std::erase_if(owners_, [&](const auto& one) {
    return one.second.collection == collection && one.second.list != owner_lists_.at(collection);
  });
  std::erase_if(marked_owners_, [&](const std::string& uid) { return !owners_.contains(uid); });
  std::erase_if(worker_sets_, [&](const auto& set) { return !owners_.contains(set.second); });
  for (const std::string& owner : std::set(gang_owners_)) tell_if_gone(owner);
}

const OwnerEntry* ClusterCache::find_owner(const std::string& uid) const {
  const auto found = owners_.find(uid);
  return found == owners_.end() ? nullptr : &found->second;
}

std::size_t ClusterCache::pods_of(const std::string& owner_uid) const {
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

std::size_t ClusterCache::bound_of(const std::string& owner_uid) const {
  const auto found = of_owner_.find(owner_uid);
  return found == of_owner_.end() ? 0 : found->second.bound;
}

std::size_t ClusterCache::bound_below(const std::string& owner_uid) const {
  std::size_t bound = bound_of(owner_uid);
  for (const auto& [uid, owner] : owners_) {
    if (owner.parent == owner_uid) bound += bound_of(uid);
  }
  return bound;
}

}  // namespace subak

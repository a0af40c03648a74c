#include "server/edge/cache/owner_cache.h"

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "core/edge_limits.h"
#include "core/must.h"
#include "core/names.h"
#include "core/text.h"
#include "kube/owners/maker.h"

namespace subak {
namespace {

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

// Returns GangsOfOwner::named.
std::vector<std::pair<std::string, std::uint64_t>> named_gangs(const OwnerRecord& owner) {
  std::vector<std::pair<std::string, std::uint64_t>> gangs;
  for (const OwnerRole& role : owner.roles) {
    if (role.gang.empty()) continue;
    const auto known = std::find_if(gangs.begin(), gangs.end(),
                                    [&](const auto& gang) { return gang.first == role.gang; });
    const std::uint64_t pods = std::uint64_t{role.copies} * role.pods;
    if (known == gangs.end()) {
      gangs.emplace_back(role.gang, pods);
    } else {
      known->second += pods;
    }
  }
  return gangs;
}

// Returns the members that the owner creates later.
LatePart late_part_of(const OwnerRecord& owner) {
  LatePart late;
  if (owner.first_of_each_job && owner.together == Together::kAll) late.firsts = jobs_of(owner);
  if (owner.leader_first && owner.roles.size() == 2) {
    late.workers = std::make_shared<const PodShape>(owner.roles[1].shape);
    late.as_leader = owner.roles[0].shape == owner.roles[1].shape;
  }
  for (const bool later : {false, true}) {
    for (const OwnerRole& role : owner.roles) {
      if (role.later != later || role.shape.kind == GpuKind::kNone) continue;
      late.roles.push_back({role.name, role.copies, role.pods, role.shape});
      if (!later) late.at_once += role.copies * role.pods;
    }
  }
  const bool any = std::any_of(owner.roles.begin(), owner.roles.end(), [](const OwnerRole& role) {
    return role.later && role.shape.kind != GpuKind::kNone;
  });
  if (!any || late.at_once == 0) late.roles.clear();
  return late;
}

}  // namespace

std::string group_key(OwnerKind kind, std::string_view ns, std::string_view name) {
  return std::string(enum_name(kind)) + " " + namespaced_name(ns, name);
}

std::vector<std::string> owner_collections() {
  std::vector<std::string> paths;
  for (const OwnerKindRow& row : owner_kinds()) {
    if (row.watch != OwnerWatch::kForMaker)
      paths.push_back(collection_of(row, row.versions.front()));
  }
  return paths;
}

std::string OwnerEntry::path() const {
  const std::size_t slash = collection.rfind('/');
  return collection.substr(0, slash) + "/namespaces/" + ns + collection.substr(slash) + "/" + name;
}

std::string OwnerEntry::api_version() const {
  constexpr std::size_t kBefore = std::string_view("/apis/").size();
  return collection.substr(kBefore, collection.rfind('/') - kBefore);
}

void OwnerCache::read(const WatchEvent& event, OwnerEntry& entry) const {
  entry.gangs = {};
  entry.ranks.clear();
  entry.done = 0;
  entry.together = Together::kNone;
  const LatePart of_set = entry.late;
  entry.late.parked.reset();
  if (const auto owner = read_owner(entry.row->kind, event.object, extra_)) {
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
    entry.gangs.named = named_gangs(*owner);
    entry.ranks = role_ranks(*owner);
    entry.late = late_part_of(*owner);
    if (entry.row->kind == OwnerKind::kTrainJob) {
      entry.late = of_set;
    } else if (auto pods = parked_pods(*owner); pods && entry.row->parks()) {
      entry.late.parked = std::make_shared<const ParkedPods>(*std::move(pods));
    }
    for (std::size_t role = 0; role < owner->roles.size(); ++role) {
      const OwnerRole& made = owner->roles[role];
      entry.gangs.of_role.emplace_back(made.name, owner->gang_size(role));
      entry.groups = made.copies;
      if (!made.has_gpus()) entry.without_gpus += made.pods;
    }
  }
  entry.resource_version = json::text_in(event.object, "metadata", "resourceVersion");
  entry.mark.clear();
  if (const auto metadata = json::member(event.object, "metadata"))
    entry.mark = json::text_in(*metadata, "annotations", names::kSuspendedBy);
  const auto spec = json::member(event.object, "spec");
  const auto parallelism = spec ? json::member(*spec, "parallelism") : std::nullopt;
  entry.one_pod = !parallelism || json::integer(*parallelism, 1) <= 1;
  entry.suspended = spec && is_suspended(*entry.row, *spec);
}

void OwnerCache::begin(const std::string& collection) {
  const OwnerKindRow* const row = find_collection(collection);
  must(row != nullptr, "the edge watches kinds of the table");
  ++lists_[row->kind];
}

OwnerCache::Seen OwnerCache::see(const WatchEvent& event, const std::string& collection) {
  Seen seen;
  seen.uid = json::text_in(event.object, "metadata", "uid");
  const OwnerKindRow* const row = find_collection(collection);
  must(row != nullptr, "the edge watches kinds of the table");
  const std::string_view ns = json::text_in(event.object, "metadata", "namespace");
  const std::string_view name = json::text_in(event.object, "metadata", "name");
  if (row->is_group) seen.group = group_key(row->kind, ns, name);
  if (event.kind == WatchKind::kDeleted) {
    drop(seen);
    return seen;
  }
  const bool maker_changed = see_maker(event, *row, seen.uid);
  if (row->watch == OwnerWatch::kForMaker) {
    seen.outdates = maker_changed;
    return seen;
  }
  OwnerEntry& entry = entries_[seen.uid];
  entry.row = row;
  entry.ns = ns;
  entry.name = name;
  entry.collection = collection;
  entry.list = lists_[row->kind];
  set_parent(seen.uid, entry, makers_.at(seen.uid).parent);
  const auto said = [&entry] {
    return std::tuple(entry.gangs, entry.done, entry.without_gpus, entry.replaced_alone,
                      entry.late.workers ? to_text(*entry.late.workers) : std::string(),
                      entry.late.firsts.size(), entry.late.at_once);
  };
  const auto before = said();
  read(event, entry);
  if (collection == kWorkerSetsPath) {
    seen.worker_set = namespaced_name(entry.ns, entry.name);
    seen.outdates = std::exchange(worker_sets_[seen.worker_set], seen.uid) != seen.uid;
  }
  if (row->is_group)
    seen.outdates = std::exchange(groups_[seen.group], seen.uid) != seen.uid || seen.outdates;
  seen.outdates = seen.outdates || maker_changed || before != said();
  lend_after(seen);
  index(seen.uid, entry);
  return seen;
}

void OwnerCache::index(const std::string& uid, const OwnerEntry& entry) {
  const auto set_member = [&uid](std::set<std::string>& set, bool is_in) {
    if (is_in) {
      set.insert(uid);
    } else {
      set.erase(uid);
    }
  };
  set_member(marked_, !entry.mark.empty());
  set_member(restless_, !entry.mark.empty() && !entry.may_wait_parked());
}

void OwnerCache::set_parent(const std::string& uid, OwnerEntry& entry, const std::string& parent) {
  if (entry.parent == parent) return;
  children_.erase({entry.parent, uid});
  entry.parent = parent;
  if (!parent.empty()) children_.emplace(parent, uid);
}

std::vector<std::string> OwnerCache::children_of(const std::string& uid) const {
  std::vector<std::string> out;
  for (auto it = children_.lower_bound({uid, ""}); it != children_.end() && it->first == uid; ++it)
    out.push_back(it->second);
  return out;
}

void OwnerCache::lend(const std::string& uid, OwnerEntry& train_job, const OwnerEntry* set) {
  train_job.late = {};
  train_job.late.awaits_templates = set == nullptr;
  if (set == nullptr || set->late.parked == nullptr) return;
  ParkedPods pods = *set->late.parked;
  pods.pod.uid = uid;
  pods.pod.owner = shortened(uid, limits::kMaxNameBytes);
  pods.pod.name = train_job.name;
  train_job.late.parked = std::make_shared<const ParkedPods>(std::move(pods));
}

void OwnerCache::lend_after(Seen& seen) {
  OwnerEntry& entry = entries_.at(seen.uid);
  if (entry.row->kind == OwnerKind::kTrainJob) {
    const bool lent = entry.late.awaits_templates || entry.late.parked != nullptr;
    if (!entry.has_parked_mark()) entry.late = {};
    if (lent || !entry.has_parked_mark()) return;
    const OwnerEntry* set = nullptr;
    for (const std::string& child : children_of(seen.uid)) {
      const OwnerEntry& other = entries_.at(child);
      if (other.row->kind == OwnerKind::kJobSet) set = &other;
    }
    return lend(seen.uid, entry, set);
  }
  const auto train_job = parked_train_job_of(entry);
  if (train_job == entries_.end()) return;
  lend(train_job->first, train_job->second, &entry);
  index(train_job->first, train_job->second);
  seen.train_job = train_job->first;
}

OwnerCache::Entries::iterator OwnerCache::parked_train_job_of(const OwnerEntry& set) {
  const auto above = entries_.find(set.parent);
  const bool found = set.row->kind == OwnerKind::kJobSet && above != entries_.end() &&
                     above->second.row->kind == OwnerKind::kTrainJob &&
                     above->second.has_parked_mark();
  return found ? above : entries_.end();
}

void OwnerCache::drop(Seen& seen) {
  if (const OwnerEntry* const known = find(seen.uid)) {
    const auto train_job = parked_train_job_of(*known);
    if (train_job != entries_.end()) {
      seen.train_job = train_job->first;
      lend(train_job->first, train_job->second, nullptr);
      index(train_job->first, train_job->second);
    }
    children_.erase({known->parent, seen.uid});
  }
  makers_.erase(seen.uid);
  entries_.erase(seen.uid);
  marked_.erase(seen.uid);
  restless_.erase(seen.uid);
  const auto is_its = [&](const auto& named) { return named.second == seen.uid; };
  std::erase_if(worker_sets_, is_its);
  if (!seen.group.empty()) {
    const auto known = groups_.find(seen.group);
    seen.outdates = known != groups_.end() && known->second == seen.uid;
    if (seen.outdates) groups_.erase(known);
  }
  seen.gone = true;
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
  const OwnerKindRow* const row = find_collection(collection);
  must(row != nullptr, "the edge watches kinds of the table");
  known_.insert(row->kind);
  std::erase_if(entries_, [&](const auto& one) {
    return one.second.row == row && one.second.list != lists_.at(row->kind);
  });
  std::erase_if(makers_, [&](const auto& one) {
    return one.second.row == row && one.second.list != lists_.at(row->kind);
  });
  for (std::set<std::string>* const uids : {&marked_, &restless_})
    std::erase_if(*uids, [&](const std::string& uid) { return !entries_.contains(uid); });
  const auto is_gone = [&](const auto& named) { return !entries_.contains(named.second); };
  std::erase_if(worker_sets_, is_gone);
  std::erase_if(groups_, is_gone);
}

// A new owner without pods changes nothing: pods that await it are read again anyway.
bool OwnerCache::see_maker(const WatchEvent& event, const OwnerKindRow& row,
                           const std::string& uid) {
  Maker maker;
  maker.row = &row;
  maker.list = lists_[row.kind];
  if (const auto metadata = json::member(event.object, "metadata")) {
    maker.created_by = json::text_in(*metadata, "annotations", names::kCreatedBy);
    if (const auto owners = json::member(*metadata, "ownerReferences")) {
      json::each_item(*owners, [&](std::size_t, json::Value owner) {
        if (!json::boolean(owner, "controller")) return;
        maker.parent = json::text(owner, "uid");
        maker.parent_name = json::text(owner, "name");
        maker.parent_row =
            find_owner_kind(json::text(owner, "apiVersion"), json::text(owner, "kind"));
      });
    }
  }
  const auto [at, is_new] = makers_.try_emplace(uid);
  const bool changed =
      !is_new && (at->second.created_by != maker.created_by || at->second.parent != maker.parent);
  at->second = std::move(maker);
  return changed;
}

OwnerCache::Ancestry OwnerCache::ancestry_of(const Pod& pod) const {
  return walk_up(pod.ns, {std::string(find_text(pod.annotations, names::kCreatedBy)), {}},
                 std::string(pod.owner.uid),
                 find_owner_kind(pod.owner.api_version, pod.owner.kind));
}

OwnerCache::Ancestry OwnerCache::walk_up(std::string_view ns, Ancestry walk, std::string uid,
                                         const OwnerKindRow* row) const {
  for (std::size_t level = 0; level < limits::kMaxOwnerLevels; ++level) {
    if (!may_be_controller(walk.created_by, ns) || uid.empty()) return walk;
    const auto owner = makers_.find(uid);
    if (owner == makers_.end()) {
      if (row != nullptr && is_known(row->kind)) walk.awaited = uid;
      walk.created_by.clear();
      return walk;
    }
    walk.created_by = owner->second.created_by;
    uid = owner->second.parent;
    row = owner->second.parent_row;
  }
  return {};
}

std::string OwnerCache::maker_of(const Pod& pod) const {
  return person_name(ancestry_of(pod).created_by);
}

std::string OwnerCache::awaited_maker(const Pod& pod) const { return ancestry_of(pod).awaited; }

std::string OwnerCache::topmost(const std::string& uid) const {
  const auto owner = makers_.find(uid);
  if (owner == makers_.end() || owner->second.parent_row == nullptr) return uid;
  const OwnerKindRow& above = *owner->second.parent_row;
  return above.is_above && is_known(above.kind) ? owner->second.parent : uid;
}

Workload OwnerCache::topmost_controller(const Pod& pod) const {
  Workload top{std::string(pod.owner.kind), std::string(pod.owner.name),
               std::string(pod.owner.uid)};
  for (std::size_t level = 0; level < limits::kMaxOwnerLevels; ++level) {
    const auto owner = makers_.find(top.uid);
    const OwnerKindRow* const above = owner == makers_.end() ? nullptr : owner->second.parent_row;
    if (above == nullptr || above->kind == OwnerKind::kCronJob) break;
    top = {std::string(above->name), owner->second.parent_name, owner->second.parent};
  }
  top.kind = shortened(top.kind, limits::kMaxNameBytes);
  top.name = shortened(top.name, limits::kMaxNameBytes);
  top.uid = shortened(top.uid, limits::kMaxNameBytes);
  return top;
}

template <class F>
void OwnerCache::for_each_above(std::string uid, F&& fn) const {
  for (std::size_t level = 0; level < limits::kMaxOwnerLevels; ++level) {
    const OwnerEntry* const owner = find(uid);
    if (owner == nullptr) return;
    fn(uid, *owner);
    uid = owner->parent;
  }
}

std::string OwnerCache::creator_of_gang(const Pod& pod, const std::string& name,
                                        std::uint32_t size) const {
  std::string creator;
  for_each_above(std::string(pod.owner.uid), [&](const std::string& uid, const OwnerEntry& owner) {
    const bool creates_all =
        std::any_of(owner.gangs.named.begin(), owner.gangs.named.end(),
                    [&](const auto& gang) { return gang.first == name && gang.second >= size; });
    if (creates_all) creator = uid;
  });
  return creator;
}

const OwnerEntry* OwnerCache::find(const std::string& uid) const {
  const auto found = entries_.find(uid);
  return found == entries_.end() ? nullptr : &found->second;
}

std::string OwnerCache::worker_set(const std::string& name) const {
  const auto found = worker_sets_.find(name);
  return found == worker_sets_.end() ? std::string() : found->second;
}

std::string OwnerCache::group(const std::string& key) const {
  const auto found = groups_.find(key);
  return found == groups_.end() ? std::string() : found->second;
}

std::optional<in::OwnerSeen> OwnerCache::look_at_parked(const std::string& cluster,
                                                        const std::string& uid) {
  ParkedOwners::Owner seen;
  const OwnerEntry* const owner = find(uid);
  if (owner != nullptr) {
    seen.ns = &owner->ns;
    if (const auto maker = makers_.find(uid); maker != makers_.end())
      seen.user = person_name(walk_up(owner->ns, {maker->second.created_by, {}},
                                      maker->second.parent, maker->second.parent_row)
                                  .created_by);
    seen.name = &owner->name;
    seen.pods = owner->late.parked.get();
    seen.suspended = owner->suspended;
    seen.marked = owner->has_parked_mark();
    seen.ended = owner->ended;
  }
  std::optional<in::OwnerSeen> out = parked_.look(cluster, uid, seen);
  const bool alone = out && out->state == ParkedOwner::kParked && out->pod.gang.empty();
  if (alone && owner != nullptr && !owner->one_pod) {
    out->pod.owners.workload = {std::string(owner->kind()), owner->name,
                                shortened(uid, limits::kMaxNameBytes)};
  }
  return out;
}

void OwnerCache::see_pod_of_parked(const GpuPodEntry& pod, std::int64_t monotonic_ms) {
  if (pod.ended || pod.going || marked_.empty()) return;
  for_each_above(pod.owner_uid, [&](const std::string& uid, const OwnerEntry& owner) {
    if (owner.suspended) parked_.see_pod(uid, monotonic_ms);
  });
}

std::vector<std::string> OwnerCache::below(const std::string& uid) const {
  std::vector<std::string> out = children_of(uid);
  const OwnerEntry* const upper = find(uid);
  if (upper == nullptr || upper->row->kind != OwnerKind::kTrainJob) return out;
  for (const std::string& set : std::vector(out)) {
    const std::vector<std::string> jobs = below(set);
    out.insert(out.end(), jobs.begin(), jobs.end());
  }
  return out;
}

}  // namespace subak

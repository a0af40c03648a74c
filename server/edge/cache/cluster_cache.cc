#include "server/edge/cache/cluster_cache.h"

#include <algorithm>
#include <utility>

#include "core/content_hash.h"
#include "core/duration.h"
#include "core/limits.h"
#include "core/names.h"
#include "core/text.h"
#include "server/edge/cache/gangs.h"

namespace subak {
namespace {

TimeMs end_of(const Pod& pod) {
  if (pod.status.finished_at.empty()) return 0;
  const auto at = parse_time(pod.status.finished_at, "");
  return at ? *at : 0;
}

// True if the pod was evicted while the GPU Operator upgraded the driver of its node.
bool is_evicted_by_upgrade(const NodeCache& nodes, const PodEntry& entry, const Pod& pod) {
  return pod.status.disrupted == "EvictionByEvictionAPI" && nodes.upgrades_driver(entry.node);
}

// Returns why a pod that had not ended was deleted.
Cause cause_of_deletion(const NodeCache& nodes, const PodEntry& entry, const Pod& pod) {
  if (is_evicted_by_upgrade(nodes, entry, pod)) return Cause::kNodeDrained;
  if (pod.status.disrupted == "EvictionByEvictionAPI") return Cause::kEvicted;
  return Cause::kCancelled;
}

// Counts the pod among the users of its ComputeDomain (`by` 1), or takes it out (`by` -1).
void count_user(DomainCache& domains, const GpuPodEntry& pod, int by) {
  if (!pod.uses_domain()) return;
  by > 0 ? domains.add_user(pod.claims.domain, pod.going)
         : domains.remove_user(pod.claims.domain, pod.going);
}

// Sends the core what it does not know yet of an owner that waits or waited suspended.
void tell_parked(OwnerCache& owners, const std::string& uid, Outbox& outbox) {
  if (auto update = owners.look_at_parked(outbox.cluster(), uid))
    outbox.changed(about::Owner{uid}, *std::move(update));
}

// Reports a pod that exists as gone. The core then ends the hold of the pod, if it has one. Unless
// the pod is bound, the edge guards the node of that hold (PodMarks::take_withdrawn()).
void withdraw(const std::string& uid, PodEntry& entry, bool bound, Outbox& outbox,
              PodMarks& marks) {
  outbox.first({in::PodGone{outbox.cluster(), {uid, {}, 0, 0}, 0, Cause::kNone}, uid});
  entry.told = 0;
  if (!bound) marks.put_withdrawn(uid);
}

// Sets when the charge of the pod begins; nullopt: with its binding. A pod that ran before that time
// is reported as running since then. An earlier time would look like the error of a clock.
void charge_from(PodRecord& record, std::optional<TimeMs> from_ms) {
  if (!from_ms) return;
  record.bound_at_ms = *from_ms;
  if (record.running_at_ms != 0) record.running_at_ms = std::max(record.running_at_ms, *from_ms);
}

// Handles a pod that begins or stops paying for its ResourceClaims. The core never changes the GPUs
// of a pod, so the cache reports the pod as gone, and then as new. A pod that runs already pays
// from the end of the payer before. If that end is not known, it pays from now on. But if Subak did
// not know the templates of its ResourceClaims, no pod has paid, so the pod pays from its binding.
void change_payer(const std::string& uid, PodEntry& entry, const Pod& pod, PodRecord& record,
                  const ClaimCache& claims, Outbox& outbox, PodMarks& marks) {
  if (!entry.gpu) return;
  if (entry.told != 0 && entry.gpu->asks_gpu != pod.asks_gpu()) {
    withdraw(uid, entry, !pod.node_name.empty(), outbox, marks);
    const bool was_unknown = !entry.gpu->claims.waits.claim.empty() && pod.claims.by_template;
    std::optional<TimeMs>& from_ms = entry.gpu->claims.pays_from_ms;
    from_ms.reset();
    if (pod.asks_gpu() && !was_unknown && !pod.node_name.empty())
      from_ms = claims.pays_from_ms(uid, record.bound_at_ms);
  }
  charge_from(record, entry.gpu->claims.pays_from_ms);
}

// True if the pod requests no GPUs, but may have requested some in an earlier session. Then the core
// may have a hold for the pod, and a patch that opens the gate of the pod may be on its way.
bool may_have_hold(const PodEntry& pod) {
  if (pod.told != 0 || !pod.gpu || pod.gpu->asks_gpu || pod.gpu->ended || pod.gpu->bound)
    return false;
  return pod.gpu->gated || !pod.gpu->let_go_to.empty();
}

// Takes the pod as a member of its gang, as NonGpuMembers::see(). `waits`: why the pod must wait
// before the core gets it. Such a pod may request GPUs.
std::vector<std::string> see_member(NonGpuMembers& members, const OwnerCache& owners,
                                    const std::string& uid, const Pod& pod, WatchKind kind,
                                    const PodWait& waits) {
  const bool may_ask = !waits.volume.empty() || !pod.claims.device.empty();
  if (waits.any() && may_ask) return members.gone(uid);
  return members.see(uid, pod, kind, creator_of_stated_gang(owners, pod));
}

}  // namespace

ClusterCache::ClusterCache(std::string cluster, ExtraGpuResources extra,
                           std::vector<std::string> other_schedulers,
                           std::vector<std::string> fatal_conditions,
                           std::vector<std::string> topology_labels, NodeLabelKeys node_labels,
                           const std::vector<std::string>& system_namespaces)
    : node_options_{std::move(topology_labels), std::move(extra), std::move(node_labels),
                    std::move(fatal_conditions)},
      other_schedulers_(std::move(other_schedulers)),
      outbox_(std::move(cluster)),
      needs_(node_options_.extra_gpus, node_options_.topology_labels),
      domains_({.unreadable =
                    [this](const std::string& why) {
                      ++unreadable_.count;
                      unreadable_.last = why;
                    },
                .offers_changed = [this](const std::string& node) { nodes_.put_changed(node); }}),
      nodes_(
          node_options_, needs_.claims().devices(), outbox_,
          [this](const std::string& node) { return may_have_pods(node); },
          [this](const std::string& node) { return domains_.offers_channel(node); }),
      namespaces_(outbox_),
      owners_(node_options_.extra_gpus) {
  namespace_policy_.system_namespaces = system_namespaces;
}

void ClusterCache::forget_told() {
  outbox_.clear();
  pods_.clear();
  nodes_.clear();
  namespaces_.clear();
  owners_.parked().forget_told();
  owned_.clear();
  orphans_.clear();
  non_gpu_members_.clear();
  marks_.clear();
  domains_.forget_users();
  needs_.forget_pods();
}

// --- pods ----------------------------------------------------------------------------------------

void ClusterCache::see_answered_pod(json::Value pod, std::int64_t monotonic_ms) {
  see_again(pod, monotonic_ms, true);
}

void ClusterCache::see_again(json::Value pod, std::int64_t monotonic_ms, bool with_owner) {
  const auto known = pods_.find(std::string(json::text_in(pod, "metadata", "uid")));
  if (known == pods_.end()) return;
  const std::uint32_t list = known->second.list;
  const TimeMs listed_ms = known->second.listed_ms;
  WatchEvent event;
  event.kind = WatchKind::kModified;
  event.object = pod;
  see_pod(event, monotonic_ms, with_owner);
  known->second.list = list;
  known->second.listed_ms = listed_ms;
}

void ClusterCache::see_pod(const WatchEvent& event, std::int64_t monotonic_ms) {
  see_pod(event, monotonic_ms, true);
}

void ClusterCache::see_pod(const WatchEvent& event, std::int64_t monotonic_ms, bool with_owner) {
  Pod pod = read_pod(event.object, node_options_.extra_gpus);
  if (pod.uid.empty() || pod.ns.empty() || pod.name.empty()) {
    ++unreadable_.count;
    unreadable_.last = "a pod without uid, namespace or name";
    return;
  }
  const std::string uid(pod.uid);
  const std::uint64_t version = version_number(pod.resource_version);
  const auto [at, is_new] = pods_.try_emplace(uid);
  PodEntry& entry = at->second;
  entry.list = pod_list_.number();
  entry.listed_ms = pod_list_ms_;
  if (!is_new && version != 0 && version < entry.version) return;
  entry.version = version;
  see_operand(uid, pod, event);
  const bool has_claims = !pod.claims.device.empty();  // such a pod may pay later
  PodWait waits = needs_.add_to(pod, event.object);
  const bool unsure = with_owner && pod.asks_gpu() &&
                      (!find_gang(owners_, pod, entry) || !owners_.awaited_maker(pod).empty());
  if (unsure && waits_for_owner(pod, event, monotonic_ms)) return;
  orphans_.forget(uid);
  outdate_gangs(see_member(non_gpu_members_, owners_, uid, pod, event.kind, waits));
  if (pod.asks_gpu()) non_gpu_members_.leave_out_of(pod);
  if (pod.asks_gpu()) hold_unsized(pod);
  waits.near = needs_.near().see_pod(pod, event.object);
  domains_.recognise(pod);
  PodRecord record = pod_record(pod, !other_manager_of(pod, other_schedulers_).empty());
  put_makers(owners_, pod, record);
  if (record.ended == Cause::kNone)
    change_payer(uid, entry, pod, record, needs_.claims(), outbox_, marks_);
  if (event.kind == WatchKind::kDeleted && record.ended == Cause::kNone) {
    const TimeMs end_ms = end_seen(entry, end_of(pod));
    const Cause cause =
        is_left_out(owners_, entry) ? Cause::kFinished : cause_of_deletion(nodes_, entry, pod);
    return drop_pod(uid, {outbox_.cluster(), {uid, {}, 0, 0}, end_ms, cause}, entry.node);
  }
  entry.ns = pod.ns;
  entry.name = pod.name;
  entry.node = pod.node_name;
  if (pod.asks_gpu() || pod.gated() || entry.gpu || has_claims)
    see_gpu_pod(uid, entry, pod, record, event.object, monotonic_ms);
  const bool waits_anew = entry.gpu && waits.any() && entry.gpu->claims.waits != waits;
  if (entry.gpu) entry.gpu->claims.waits = std::move(waits);
  if (waits_anew && record.gated && !entry.gpu->ended) marks_.put_early(uid);
  if (record.ended == Cause::kEvicted && is_evicted_by_upgrade(nodes_, entry, pod))
    record.ended = Cause::kNodeDrained;
  if (record.ended != Cause::kNone) record.ended_at_ms = end_seen(entry, record.ended_at_ms);
  if (record.ended != Cause::kNone && is_left_out(owners_, entry)) record.ended = Cause::kFinished;
  // All pods of the gang may have ended while no watch was open.
  if (is_new && entry.gpu && entry.gpu->ended && !entry.gpu->gang_owner.empty()) {
    owned_.open_gang(entry.gpu->gang_owner);
  }
  if (record.gated && record.ended == Cause::kNone && record.gang_size == 0)
    marks_.put_unsized(uid);
  if (entry.gpu) follow_gang(uid, entry, record);
  // The claims of a pod that has ended are not read. It may have ended before this session.
  const bool may_be_known = record.ended == Cause::kNone || !pod.claims.device.empty();
  const bool counts = pod.asks_gpu() || entry.told != 0 || (!entry.node.empty() && may_be_known);
  if (counts && (entry.told != 0 || !needs_.claims().hold_back(uid, record))) tell_pod(uid, record);
  if (counts && entry.gpu) tell_late_pods(uid, entry, pod, record);
  if (entry.gpu && entry.gpu->ended) tell_if_gone(entry.gpu->gang_owner);
  if (event.kind != WatchKind::kDeleted) return;
  if (entry.gpu) owned_.remove(*entry.gpu);
  if (entry.gpu) count_user(domains_, *entry.gpu, -1);
  if (entry.gpu) tell_if_gone(entry.gpu->gang_owner);
  marks_.forget(uid);
  needs_.forget(uid);
  pods_.erase(uid);
}

void ClusterCache::see_gpu_pod(const std::string& uid, PodEntry& entry, const Pod& pod,
                               const PodRecord& record, json::Value object,
                               std::int64_t monotonic_ms) {
  if (!entry.gpu) entry.gpu = std::make_unique<GpuPodEntry>();
  GpuPodEntry& gpu = *entry.gpu;
  owned_.remove(gpu);
  count_user(domains_, gpu, -1);
  gpu.asks_gpu = pod.asks_gpu();
  gpu.gated = record.gated;
  gpu.foreign_gates = record.foreign_gates;
  gpu.ended = record.ended != Cause::kNone;
  gpu.bound = !entry.node.empty();
  const bool was_going = std::exchange(gpu.going, !pod.deleted_at.empty());
  if (gpu.going && !was_going) gpu.given_up = nodes_.is_silent(entry.node);
  gpu.gang = !record.gang.empty();
  gpu.runs_alone = record.replaced_alone;
  read_job_part(pod, object, record.ended, gpu);
  gpu.owner_api = pod.owner.api_version;
  gpu.owner_kind = pod.owner.kind;
  gpu.owner_name = pod.owner.name;
  gpu.owner_uid = pod.owner.uid;
  // A pod that outlives its owner no longer finds it.
  const Text worker_set = worker_set_of(pod);
  gpu.worker_set = worker_set.empty() ? "" : entry.ns + "/" + std::string(worker_set);
  if (std::string owner = gang_owner_of(owners_, pod, record); !owner.empty())
    gpu.gang_owner = std::move(owner);
  gpu.gang_told.group = named_group(pod);
  gpu.gang_told.least = pod.gang.least;
  gpu.kept_closed = find_text(pod.annotations, names::kKeptClosed);
  gpu.let_go_to = record.let_go_to;
  gpu.release = {};
  if (record.gated) {
    if (auto read = read_gated_pod(object)) gpu.release = std::move(read).value();
  }
  gpu.claims.domain = pod.claims.domain_template.empty()
                          ? ""
                          : namespaced_name(entry.ns, pod.claims.domain_template);
  owned_.add(gpu);
  owners_.see_pod_of_parked(gpu, monotonic_ms);
  count_user(domains_, gpu, 1);
  // Subak released the pod. Only such a pod is reported if the scheduler finds no node for it, or
  // if it is not Ready. In mode observe, no pod is reported.
  const bool ours = !record.let_go_to.empty() && has_key(pod.annotations, names::kStatus);
  marks_.see(uid, pod, record, ours);
  const Text words = marks_.unschedulable().contains(uid) ? pod.status.unschedulable : Text();
  if (!words.empty() && gpu.unschedulable.empty()) gpu.unschedulable_since_ms = monotonic_ms;
  gpu.unschedulable = words;
}

void ClusterCache::tell_pod(const std::string& uid, const PodRecord& record) {
  PodEntry& entry = pods_.at(uid);
  const std::uint64_t digest = content_hash(to_text(record));
  if (digest == entry.told) return;
  entry.told = digest;
  outbox_.pod_seen(uid, record);
}

void ClusterCache::follow_gang(const std::string& uid, PodEntry& entry, PodRecord& record) {
  GangPart& gang = entry.gpu->gang_told;
  gang.size_changes = gang.size_changes || record.owners.size_of_owner;
  record.owners.size_of_owner = gang.size_changes;
  if (!record.gated) return;
  std::string key = record.gang + " " + record.owner;
  const bool follows = gang.size_changes || record.replaced_alone || record.gang_size == 0;
  const bool leaves = key != gang.key || (!follows && record.gang_size != gang.size);
  if (entry.told != 0 && leaves) withdraw(uid, entry, false, outbox_, marks_);
  if (leaves) gang.late_members = 0;
  gang.key = std::move(key);
  gang.size = record.gang_size;
}

// Reports the gang as gone once its pods are gone and its owner is gone or creates no more.
void ClusterCache::tell_if_gone(const std::string& gang_owner) {
  if (owned_.has_gang(gang_owner) || !owned_.open_gangs().contains(gang_owner)) return;
  if (makes_more(owners_, gang_owner)) return;
  outbox_.changed(about::Gang{gang_owner}, in::GangGone{outbox_.cluster(), gang_owner});
  owned_.close_gang(std::string(gang_owner));
}

void ClusterCache::drop_pod(const std::string& uid, in::PodGone gone, const std::string& clock) {
  const auto at = pods_.find(uid);
  const bool told = at->second.told != 0 || outbox_.has_pod(uid);
  if (told || at->second.gpu) outbox_.changed(about::Pod{uid}, std::move(gone), clock);
  if (at->second.gpu) owned_.remove(*at->second.gpu);
  if (at->second.gpu) count_user(domains_, *at->second.gpu, -1);
  if (at->second.gpu) tell_if_gone(at->second.gpu->gang_owner);
  outdate_gangs(non_gpu_members_.gone(uid));
  nodes_.forget_operand(uid);
  marks_.forget(uid);
  needs_.forget(uid);
  pods_.erase(at);
}

bool ClusterCache::complete_pods(TimeMs heard_ms) {
  for (auto& [uid, record] : needs_.claims().take_held_back()) {
    const auto found = pods_.find(uid);
    if (found == pods_.end() || found->second.told != 0 || !found->second.gpu) continue;
    std::optional<TimeMs>& from_ms = found->second.gpu->claims.pays_from_ms;
    from_ms = needs_.claims().listed_pays_from_ms(record);
    charge_from(record, from_ms);
    tell_pod(uid, record);
  }
  std::vector<std::string> gone, withdrawn;
  for (const auto& [uid, entry] : pods_) {
    if (entry.list != pod_list_.number()) gone.push_back(uid);
    if (may_have_hold(entry)) withdrawn.push_back(uid);
  }
  if (!pod_list_.believe(gone.size(), pods_.size())) return false;
  std::sort(gone.begin(), gone.end());
  std::sort(withdrawn.begin(), withdrawn.end());
  for (const std::string& uid : withdrawn) withdraw(uid, pods_.at(uid), false, outbox_, marks_);
  needs_.near().complete_pods();
  for (const std::string& uid : gone) {
    const TimeMs there_ms = std::max(heard_ms, pods_.at(uid).listed_ms);
    drop_pod(uid, {outbox_.cluster(), {uid, {}, 0, 0}, there_ms, Cause::kVanished});
  }
  return true;
}

const PodEntry* ClusterCache::find_gpu_pod(const std::string& uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() || !found->second.gpu ? nullptr : &found->second;
}

void ClusterCache::each_unschedulable(
    const std::function<void(const std::string& uid, const PodEntry& pod)>& take) const {
  for (const std::string& uid : marks_.unschedulable()) take(uid, pods_.at(uid));
}

void ClusterCache::put_off_unschedulable(const std::string& uid, std::int64_t monotonic_ms) {
  pods_.at(uid).gpu->unschedulable_since_ms = monotonic_ms;
}

void ClusterCache::tell_again(const std::string& uid, bool as_new) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) {
    owners_.parked().forget_told(uid);
    return tell_parked(owners_, uid, outbox_);
  }
  if (as_new && found->second.gpu) {
    withdraw(uid, found->second, false, outbox_, marks_);
    found->second.gpu->gang_told.apart = true;
  }
  found->second.told = 0;
  marks_.put_outdated(uid);
}

void ClusterCache::see_node(const WatchEvent& event, TimeMs now_ms) {
  needs_.near().see_node(event);
  std::string why = nodes_.see(event, now_ms);
  if (why.empty()) return;
  ++unreadable_.count;
  unreadable_.last = std::move(why);
}

void ClusterCache::see_operand(const std::string& uid, const Pod& pod, const WatchEvent& event) {
  const auto operand = read_operand(pod, event.object);
  if (!operand || pod.node_name.empty() || !is_system_namespace(namespace_policy_, pod.ns)) return;
  if (event.kind == WatchKind::kDeleted) return nodes_.forget_operand(uid);
  nodes_.see_operand(uid, std::string(pod.node_name), *operand);
}

bool ClusterCache::may_have_pods(const std::string& node) const {
  return std::any_of(pods_.begin(), pods_.end(), [&](const auto& one) {
    const PodEntry& entry = one.second;
    if (entry.gpu && entry.gpu->ended) return false;
    return entry.node.empty() ? entry.gpu && !entry.gpu->gated : entry.node == node;
  });
}

TimeMs ClusterCache::end_seen(const PodEntry& entry, TimeMs said_ms) const {
  if (!entry.gpu || !entry.gpu->given_up) return said_ms;
  const TimeMs lost_ms = nodes_.lost_ms(entry.node);
  if (lost_ms == 0) return said_ms;
  return said_ms == 0 ? lost_ms : std::min(said_ms, lost_ms);
}

// --- pods and owners -----------------------------------------------------------------------------

bool ClusterCache::waits_for_owner(const Pod& pod, const WatchEvent& event,
                                   std::int64_t monotonic_ms) {
  if (event.kind == WatchKind::kDeleted || orphans_.size() >= limits::kMaxEarlyPods) return false;
  const std::vector<std::string> awaited = awaited_owners(owners_, pod);
  if (awaited.empty()) return false;
  orphans_.add(std::string(pod.uid), simdjson::minify(event.object), monotonic_ms, awaited);
  return true;
}

void ClusterCache::see_orphan(const std::string& uid, std::int64_t monotonic_ms, bool with_owner) {
  const std::optional<Orphans::Orphan> orphan = orphans_.take(uid);
  if (!orphan) return;
  simdjson::dom::parser parser;
  json::Value pod;
  if (parser.parse(orphan->text).get(pod) != simdjson::SUCCESS) return;
  see_again(pod, with_owner ? orphan->since_ms : monotonic_ms, with_owner);
}

void ClusterCache::adopt_orphans(std::int64_t monotonic_ms) {
  for (const std::string& uid : orphans_.waiting_since(monotonic_ms, limits::kOwnerMs)) {
    see_orphan(uid, monotonic_ms, false);
  }
  orphans_.forget_owners();
}

void ClusterCache::see_owner(const WatchEvent& event, const std::string& collection) {
  take_in(owners_.see(event, collection));
}

void ClusterCache::see_answered_owner(json::Value owner, const std::string& collection) {
  if (const auto seen = owners_.see_answer(owner, collection)) take_in(*seen);
}

void ClusterCache::take_in(const OwnerCache::Seen& owner) {
  tell_parked(owners_, owner.uid, outbox_);
  if (!owner.train_job.empty()) tell_parked(owners_, owner.train_job, outbox_);
  if (owner.outdates) outdate_pods_of(owner);
  if (!owner.gone) {
    for (const std::string& uid : orphans_.awaiting(owner.uid)) see_orphan(uid, 0, true);
  }
  for (const std::string& name : {owner.worker_set, owner.group}) {
    if (name.empty()) continue;
    for (const std::string& uid : orphans_.awaiting(name)) see_orphan(uid, 0, true);
  }
  for (const std::string& gang : owned_.open_gangs_of(owner.uid)) tell_if_gone(gang);
}

void ClusterCache::complete_owners(const std::string& collection) {
  owners_.complete(collection);
  for (const std::string& uid : owners_.parked().told()) tell_parked(owners_, uid, outbox_);
  for (const std::string& gang : std::set(owned_.open_gangs())) tell_if_gone(gang);
}

void ClusterCache::outdate_pods_of(const OwnerCache::Seen& seen) {
  for (const std::string& uid : marks_.gated()) {
    const GpuPodEntry& gpu = *pods_.at(uid).gpu;
    const OwnerEntry* const owner = owners_.find(gpu.owner_uid);
    const bool below = owner != nullptr && owner->parent == seen.uid;
    const bool of_group = !seen.worker_set.empty() && gpu.worker_set == seen.worker_set;
    const bool names_it = !seen.group.empty() && gpu.gang_told.group == seen.group;
    if (gpu.owner_uid == seen.uid || below || of_group || names_it) marks_.put_outdated(uid);
  }
}

void ClusterCache::outdate_gangs(const std::vector<std::string>& gangs) {
  for (const std::string& gang : gangs) {
    for (const std::string& uid : marks_.gated()) {
      const PodEntry& entry = pods_.at(uid);
      const GangPart& part = entry.gpu->gang_told;
      const std::string told = entry.ns + (part.least ? "/@" : "/") + part.key;
      if (told.starts_with(gang + " ")) marks_.put_outdated(uid);
    }
  }
}

OwnedPods::Count ClusterCache::pods_of(const std::string& owner_uid) const {
  OwnedPods::Count count = owned_.of(owner_uid);
  for (const std::string& below : owners_.below(owner_uid)) {
    const OwnedPods::Count more = owned_.of(below);
    count.pods += more.pods;
    count.bound += more.bound;
    count.failing += more.failing;
  }
  return count;
}

}  // namespace subak

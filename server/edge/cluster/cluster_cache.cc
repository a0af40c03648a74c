#include "server/edge/cluster/cluster_cache.h"

#include <algorithm>
#include <utility>

#include "core/content_hash.h"
#include "core/duration.h"
#include "core/limits.h"
#include "core/names.h"
#include "core/text.h"
#include "kube/node/node.h"

namespace subak {
namespace {

constexpr std::size_t kFewObjects = 8;  // so many may go at once without a second list

// Returns since when the node is silent: its condition Ready is Unknown. 0: it reports.
TimeMs silent_since(json::Value node) {
  TimeMs since = 0;
  const auto status = json::member(node, "status");
  const auto conditions = status ? json::member(*status, "conditions") : std::nullopt;
  if (!conditions) return 0;
  json::each_item(*conditions, [&](std::size_t, json::Value condition) {
    if (json::text(condition, "type") != "Ready") return;
    if (json::text(condition, "status") != "Unknown") return;
    const auto at = parse_time(json::text(condition, "lastTransitionTime"), "");
    if (at) since = *at;
  });
  return since;
}

TimeMs end_of(const Pod& pod) {
  if (pod.status.finished_at.empty()) return 0;
  const auto at = parse_time(pod.status.finished_at, "");
  return at ? *at : 0;
}

}  // namespace

ClusterCache::ClusterCache(std::string cluster, ExtraGpuResources extra,
                           std::vector<std::string> other_schedulers,
                           std::vector<std::string> fatal_conditions,
                           std::vector<std::string> topology_labels)
    : cluster_(std::move(cluster)),
      node_options_{std::move(topology_labels), std::move(extra), std::move(fatal_conditions)},
      other_schedulers_(std::move(other_schedulers)) {}

void ClusterCache::forget_told() {
  queue_.clear();
  last_queue_.clear();
  untold_.clear();
  put_back_.clear();
  unanswered_.clear();
  pods_.clear();
  nodes_.clear();
  silent_nodes_.clear();
  namespaces_.clear();
  of_owner_.clear();
  of_gang_.clear();
  non_gpu_members_.clear();
  non_gpu_counts_.clear();
  gang_owners_.clear();
  orphans_.clear();
  orphans_of_.clear();
  unschedulable_.clear();
  gated_.clear();
  unsized_.clear();
  outdated_.clear();
  outdated_nodes_.clear();
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
    ++unreadable_;
    last_unreadable_ = "a pod without uid, namespace or name";
    return;
  }
  const std::string uid(pod.uid);
  const std::uint64_t version = version_number(pod.resource_version);
  const auto [at, is_new] = pods_.try_emplace(uid);
  PodEntry& entry = at->second;
  entry.list = pod_list_;
  entry.listed_ms = pod_list_ms_;
  if (!is_new && version != 0 && version < entry.version) return;
  entry.version = version;
  const bool unsure = with_owner && pod.asks_gpu() && !find_gang(pod, entry);
  if (unsure && waits_for_owner(pod, event, monotonic_ms)) return;
  orphans_.erase(uid);
  count_non_gpu_member(uid, pod, event.kind);
  if (pod.asks_gpu()) leave_out_non_gpu_members(pod);
  if (pod.asks_gpu()) hold_unsized(pod);
  PodRecord record = pod_record(pod, !other_manager_of(pod, other_schedulers_).empty());
  if (event.kind == WatchKind::kDeleted && record.ended == Cause::kNone) {
    const TimeMs end_ms = end_seen(entry, end_of(pod));
    const Cause cause = is_left_out(entry) ? Cause::kFinished : Cause::kCancelled;
    return drop_pod(uid, {cluster_, {uid, {}, 0, 0}, end_ms, cause}, entry.node);
  }
  entry.ns = pod.ns;
  entry.name = pod.name;
  entry.node = pod.node_name;
  if (pod.asks_gpu() || pod.gated() || entry.gpu)
    see_gpu_pod(uid, entry, pod, record, event.object, monotonic_ms);
  if (record.ended != Cause::kNone) record.ended_at_ms = end_seen(entry, record.ended_at_ms);
  if (record.ended != Cause::kNone && is_left_out(entry)) record.ended = Cause::kFinished;
  // All pods of the gang may have ended while no watch was open.
  if (is_new && entry.gpu && entry.gpu->ended && !entry.gpu->gang_owner.empty()) {
    gang_owners_.insert(entry.gpu->gang_owner);
  }
  if (record.gated && record.ended == Cause::kNone && record.gang_size == 0) unsized_.insert(uid);
  if (entry.gpu && record.size_of_owner) entry.gpu->size_changes = true;
  if (entry.gpu) record.size_of_owner = entry.gpu->size_changes;
  if (entry.gpu && record.gated) leave_gang(uid, entry, record);
  const bool counts =
      pod.asks_gpu() || entry.told != 0 || (!entry.node.empty() && record.ended == Cause::kNone);
  if (counts) tell_pod(uid, record);
  if (counts && entry.gpu) tell_late_pods(uid, entry, pod, record);
  if (entry.gpu && entry.gpu->ended) tell_if_gone(entry.gpu->gang_owner);
  if (event.kind != WatchKind::kDeleted) return;
  count_owner(entry, -1);
  if (entry.gpu) tell_if_gone(entry.gpu->gang_owner);
  unschedulable_.erase(uid);
  gated_.erase(uid);
  pods_.erase(uid);
}

void ClusterCache::see_gpu_pod(const std::string& uid, PodEntry& entry, const Pod& pod,
                               const PodRecord& record, json::Value object,
                               std::int64_t monotonic_ms) {
  count_owner(entry, -1);
  if (!entry.gpu) entry.gpu = std::make_unique<GpuPodEntry>();
  GpuPodEntry& gpu = *entry.gpu;
  gpu.asks_gpu = pod.asks_gpu();
  gpu.claims = !pod.device_claim.empty();
  gpu.gated = record.gated;
  gpu.foreign_gates = record.foreign_gates;
  gpu.ended = record.ended != Cause::kNone;
  gpu.bound = !entry.node.empty();
  const bool was_going = std::exchange(gpu.going, !pod.deleted_at.empty());
  if (gpu.going && !was_going) gpu.given_up = is_silent(entry.node);
  gpu.gang = !record.gang.empty();
  gpu.runs_alone = record.replaced_alone;
  read_job_index(pod, gpu);
  gpu.owner_api = pod.owner.api_version;
  gpu.owner_kind = pod.owner.kind;
  gpu.owner_name = pod.owner.name;
  gpu.owner_uid = pod.owner.uid;
  // A pod that outlives its owner no longer finds it.
  const Text worker_set = worker_set_of(pod);
  gpu.worker_set = worker_set.empty() ? "" : entry.ns + "/" + std::string(worker_set);
  if (!record.owner.empty() && !worker_set.empty()) {
    gpu.gang_owner = record.owner;
  } else if (!record.owner.empty() && pod.owner.kind == "Job") {
    gpu.gang_owner = record.owner.substr(0, record.owner.find('+'));
  }
  gpu.kept_closed = find_text(pod.annotations, names::kKeptClosed);
  gpu.let_go_to = record.let_go_to;
  gpu.release = {};
  if (record.gated) {
    if (auto read = read_gated_pod(object)) gpu.release = std::move(read).value();
  }
  count_owner(entry, 1);
  if (gpu.gated && !gpu.ended && !gpu.going) {
    gated_.insert(uid);
  } else {
    gated_.erase(uid);
  }
  // Released by Subak. Pods of others that find no node are not reported; in observe mode that is
  // all pods.
  const bool ours = !record.let_go_to.empty() && has_key(pod.annotations, names::kStatus);
  const bool stuck = ours && !record.gated && entry.node.empty() && !gpu.ended && !gpu.going;
  const Text words = stuck ? pod.status.unschedulable : Text();
  if (words.empty()) {
    gpu.unschedulable.clear();
    unschedulable_.erase(uid);
    return;
  }
  if (gpu.unschedulable.empty()) gpu.unschedulable_since_ms = monotonic_ms;
  gpu.unschedulable = words;
  unschedulable_.insert(uid);
}

void ClusterCache::count_owner(const PodEntry& entry, int by) {
  if (!entry.gpu || entry.gpu->owner_uid.empty() || entry.gpu->ended) return;
  if (const std::string& gang = entry.gpu->gang_owner; !gang.empty()) {
    if (by > 0) gang_owners_.insert(gang);
    std::size_t& pods = of_gang_[gang];
    pods = by > 0 ? pods + 1 : pods - 1;
    if (pods == 0) of_gang_.erase(gang);
  }
  Made& made = of_owner_[entry.gpu->owner_uid];
  const std::size_t bound = entry.gpu->bound && !entry.gpu->going ? 1 : 0;
  made.pods = by > 0 ? made.pods + 1 : made.pods - 1;
  made.bound = by > 0 ? made.bound + bound : made.bound - bound;
  if (made.pods == 0) of_owner_.erase(entry.gpu->owner_uid);
}

void ClusterCache::drop_pod(const std::string& uid, in::PodGone gone, const std::string& clock) {
  const auto at = pods_.find(uid);
  const bool told = at->second.told != 0 || untold_.contains("p" + uid);
  if (told || at->second.gpu) {
    tell_gone("p" + uid, std::move(gone));
    untold_.at("p" + uid).gone_clock = clock;
  }
  count_owner(at->second, -1);
  if (at->second.gpu) tell_if_gone(at->second.gpu->gang_owner);
  move_non_gpu_member(uid, "");
  unschedulable_.erase(uid);
  gated_.erase(uid);
  pods_.erase(at);
}

bool ClusterCache::believe(std::size_t going, std::size_t all, bool& asked) {
  const bool many = going > kFewObjects && 2 * going > all;
  asked = many && !asked;
  return !asked;
}

bool ClusterCache::complete_pods(TimeMs heard_ms) {
  std::vector<std::string> gone;
  for (const auto& [uid, entry] : pods_) {
    if (entry.list != pod_list_) gone.push_back(uid);
  }
  if (!believe(gone.size(), pods_.size(), pods_asked_)) return false;
  std::sort(gone.begin(), gone.end());
  for (const std::string& uid : gone) {
    const TimeMs there_ms = std::max(heard_ms, pods_.at(uid).listed_ms);
    drop_pod(uid, {cluster_, {uid, {}, 0, 0}, there_ms, Cause::kVanished});
  }
  return true;
}

const PodEntry* ClusterCache::find_gpu_pod(const std::string& uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() || !found->second.gpu ? nullptr : &found->second;
}

void ClusterCache::each_unschedulable(
    const std::function<void(const std::string& uid, const PodEntry& pod)>& take) const {
  for (const std::string& uid : unschedulable_) take(uid, pods_.at(uid));
}

void ClusterCache::put_off_unschedulable(const std::string& uid, std::int64_t monotonic_ms) {
  pods_.at(uid).gpu->unschedulable_since_ms = monotonic_ms;
}

void ClusterCache::tell_again(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  found->second.told = 0;
  outdated_.insert(uid);
}

// --- nodes ---------------------------------------------------------------------------------------

void ClusterCache::see_node(const WatchEvent& event, TimeMs now_ms) {
  if (event.kind == WatchKind::kDeleted) {
    const std::string name(json::text_in(event.object, "metadata", "name"));
    Result<NodeSpec> last = read_kube_node(event.object, node_options_);
    if (last && nodes_.contains(name) && may_have_pods(name)) {
      NodeSpec closed = std::move(last).value();
      closed.unschedulable = true;
      put_back_.push_back({in::NodeSeen{cluster_, std::move(closed)}, ""});
    }
    return drop_node(name, now_ms, version_number(event.resource_version));
  }
  Result<NodeSpec> node = read_kube_node(event.object, node_options_);
  if (!node) {
    ++unreadable_;
    last_unreadable_ = node.error().message();
    return;
  }
  NodeEntry& entry = nodes_[node->name];
  entry.list = node_list_;
  const TimeMs silent_ms = silent_since(event.object);
  silent_nodes_.erase(node->name);
  if (silent_ms == 0 || silent_ms != entry.silent_ms) entry.lease_ms = 0;
  entry.silent_ms = silent_ms;
  if (silent_ms == 0 || entry.lease_ms != 0) return tell_node(std::move(node).value());
  std::string name = node->name;
  silent_nodes_.insert_or_assign(std::move(name), std::move(node).value());
}

// Drops a node. A silent node is gone since its last sign of life: by its lease or, if that was not
// read in time, by its status.
void ClusterCache::drop_node(const std::string& name, TimeMs at_ms, std::uint64_t version) {
  const auto known = nodes_.find(name);
  if (known == nodes_.end()) return;
  const auto unread = silent_nodes_.find(name);
  TimeMs heard_ms = known->second.silent_ms != 0 ? known->second.lost_ms : 0;
  if (unread != silent_nodes_.end()) {
    heard_ms = std::min(known->second.silent_ms, unread->second.not_ready_since_ms);
    silent_nodes_.erase(unread);
  }
  nodes_.erase(known);
  const std::string key = "n" + name;
  tell_gone(key, in::NodeGone{cluster_, name, heard_ms != 0 ? heard_ms : at_ms});
  untold_.at(key).after = may_have_pods(name) ? version : 0;
  std::erase(queue_, key);
  if (std::find(last_queue_.begin(), last_queue_.end(), key) == last_queue_.end()) {
    last_queue_.push_back(key);
  }
}

// True if a pod is bound there or may be on its way to a node: a report of its end may still come.
bool ClusterCache::may_have_pods(const std::string& node) const {
  return std::any_of(pods_.begin(), pods_.end(), [&](const auto& one) {
    const PodEntry& entry = one.second;
    if (entry.gpu && entry.gpu->ended) return false;
    return entry.node.empty() ? entry.gpu && !entry.gpu->gated : entry.node == node;
  });
}

bool ClusterCache::is_silent(const std::string& node) const {
  const auto found = nodes_.find(node);
  return found != nodes_.end() && found->second.silent_ms != 0;
}

// Returns the end of a pod. A pod that was deleted while its node was silent ended at the node's
// last sign of life. A machine that comes back reports the end itself.
TimeMs ClusterCache::end_seen(const PodEntry& entry, TimeMs said_ms) const {
  const auto node = nodes_.find(entry.node);
  if (!entry.gpu || !entry.gpu->given_up || node == nodes_.end()) return said_ms;
  const TimeMs lost_ms = node->second.lost_ms;
  if (lost_ms == 0) return said_ms;
  return said_ms == 0 ? lost_ms : std::min(said_ms, lost_ms);
}

void ClusterCache::tell_node(NodeSpec node) {
  NodeEntry& entry = nodes_.at(node.name);
  // Times are by the node's clock, except the start of its silence.
  const DurationMs behind_ms = clocks_.behind_ms(node.name).value_or(0);
  if (entry.silent_ms != 0) {
    const TimeMs heard_ms = std::max(node.not_ready_since_ms, entry.lease_ms) + behind_ms;
    node.not_ready_since_ms = std::clamp<TimeMs>(heard_ms, 1, entry.silent_ms);
    entry.lost_ms = node.not_ready_since_ms;
  }
  node.clock_behind_ms = clocks_.off_ms(node.name);
  const std::uint64_t digest = content_hash(to_text(node));
  if (digest == entry.told) return;
  entry.told = digest;
  Untold& news = untold("n" + node.name);
  news.gone.reset();
  news.node = std::move(node);
}

void ClusterCache::see_lease(const std::string& node, std::string_view renew_time) {
  auto found = silent_nodes_.extract(node);
  if (found.empty()) return;
  const auto at = parse_time(renew_time, "");
  nodes_.at(node).lease_ms = at ? std::max<TimeMs>(*at, 1) : 1;
  tell_node(std::move(found.mapped()));
}

void ClusterCache::see_lease(const WatchEvent& event, TimeMs now_ms, std::int64_t monotonic_ms) {
  const std::string node(json::text_in(event.object, "metadata", "name"));
  if (event.kind == WatchKind::kDeleted) return clocks_.forget(node);
  const auto spec = json::member(event.object, "spec");
  if (!spec) return;
  const auto at = parse_time(json::text(*spec, "renewTime"), "");
  if (at && clocks_.renewed(node, *at, now_ms, monotonic_ms)) outdated_nodes_.insert(node);
}

bool ClusterCache::complete_nodes(TimeMs heard_ms, std::string_view version) {
  std::vector<std::string> gone;
  for (const auto& [name, entry] : nodes_) {
    if (entry.list != node_list_) gone.push_back(name);
  }
  if (!believe(gone.size(), nodes_.size(), nodes_asked_)) return false;
  for (const std::string& name : gone) drop_node(name, heard_ms, version_number(version));
  return true;
}

// --- what is to be told --------------------------------------------------------------------------

ClusterCache::Untold& ClusterCache::untold(const std::string& key) {
  const auto [at, is_new] = untold_.try_emplace(key);
  if (is_new) queue_.push_back(key);
  return at->second;
}

void ClusterCache::tell_pod(const std::string& uid, const PodRecord& record) {
  PodEntry& entry = pods_.at(uid);
  const std::uint64_t digest = content_hash(to_text(record));
  if (digest == entry.told) return;
  entry.told = digest;
  untold("p" + uid).seen = record;
}

void ClusterCache::tell_gone(const std::string& key, in::Body gone) {
  Untold& news = untold(key);
  news.node.reset();
  news.gone = std::move(gone);
}

bool ClusterCache::has_next(std::uint64_t pods_version) const {
  const auto is_told = [&](const std::string& key) {
    return untold_.at(key).is_told_at(pods_version);
  };
  return !put_back_.empty() || !queue_.empty() ||
         std::any_of(last_queue_.begin(), last_queue_.end(), is_told);
}

std::optional<News> ClusterCache::next(std::uint64_t pods_version) {
  std::optional<News> news = take_next(pods_version);
  if (news && !news->uid.empty()) ++unanswered_[news->uid];
  return news;
}

std::optional<News> ClusterCache::take_next(std::uint64_t pods_version) {
  if (!put_back_.empty()) {
    News news = std::move(put_back_.front());
    put_back_.pop_front();
    return news;
  }
  const auto is_told = [&](const std::string& key) {
    return untold_.at(key).is_told_at(pods_version);
  };
  std::deque<std::string>& queue = queue_.empty() ? last_queue_ : queue_;
  const auto at = std::find_if(queue.begin(), queue.end(), is_told);
  if (at == queue.end()) return std::nullopt;
  const std::string key = *at;
  Untold& news = untold_.at(key);
  News out;
  if (key[0] == 'p') out.uid = key.substr(1);
  if (news.seen) {
    out.clock = news.seen->node;
    out.body = in::PodSeen{cluster_, std::move(*news.seen)};
    news.seen.reset();
    if (news.gone) return out;
  } else if (news.node) {
    out.body = in::NodeSeen{cluster_, std::move(*news.node)};
  } else {
    out.clock = news.gone_clock;
    out.body = std::move(*news.gone);
  }
  untold_.erase(key);
  queue.erase(at);
  return out;
}

void ClusterCache::put_back(News news) {
  answered(news.uid);
  put_back_.push_front(std::move(news));
}

void ClusterCache::answered(const std::string& uid) {
  const auto at = unanswered_.find(uid);
  if (at != unanswered_.end() && --at->second == 0) unanswered_.erase(at);
}

bool ClusterCache::is_answered(const std::string& uid) const {
  return !unanswered_.contains(uid) && !untold_.contains("p" + uid) &&
         std::none_of(put_back_.begin(), put_back_.end(),
                      [&](const News& news) { return news.uid == uid; });
}

}  // namespace subak
